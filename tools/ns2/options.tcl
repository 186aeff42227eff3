# Reads the command line of the scripts in this folder. Each script sources this file.
#
# Before this, the script fills the array `option`: the index is the name of an option, the value is the option's
# default. Each `-name value` on the command line replaces one default. Afterwards, each option is a variable with the
# option's name.

if {[llength $argv] % 2} { set argv [linsert $argv 0 ""] }
foreach {key value} $argv {
    if {![info exists option([string range $key 1 end])] || ![string match -* $key]} {
        puts stderr "[file tail $argv0]: there is no option `$key'. The options and their defaults are:"
        foreach name [lsort [array names option]] { puts stderr "  -$name $option($name)" }
        exit 2
    }
    set option([string range $key 1 end]) $value
}
foreach {key value} [array get option] { set $key $value }
