# Reads the command line of a script of this folder, which sources this file.
#
# The array `option` has the defaults by name. Each `-name value` replaces one. Then every option is a variable of its name.

if {[llength $argv] % 2} { set argv [linsert $argv 0 ""] }
foreach {key value} $argv {
    if {![info exists option([string range $key 1 end])] || ![string match -* $key]} {
        puts stderr "[file tail $argv0]: no option `$key'; options and their defaults:"
        foreach name [lsort [array names option]] { puts stderr "  -$name $option($name)" }
        exit 2
    }
    set option([string range $key 1 end]) $value
}
foreach {key value} [array get option] { set $key $value }
