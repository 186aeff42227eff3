// Hysteria 2 (github.com/apernet/hysteria/core/v2) as a TCP forwarder, for the comparison of `make compare`.
//
//	hysteria-forward server ADDRESS:PORT
//	hysteria-forward client SERVER:PORT RATE PORT...
//
// The client listens on 127.0.0.1 on each PORT, and the server connects to the same port of its own 127.0.0.1. RATE is
// the rate of both directions in byte/s; 0 leaves it to Hysteria's BBR. The client listens when it has a session.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/apernet/hysteria/core/v2/client"
	"github.com/apernet/hysteria/core/v2/server"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		printVersion()
		return
	}
	if len(os.Args) < 3 {
		log.Fatal("usage: hysteria-forward version | server ADDRESS:PORT | client SERVER:PORT RATE PORT...")
	}
	address, err := net.ResolveUDPAddr("udp", os.Args[2])
	check(err)
	if os.Args[1] == "server" {
		serve(address)
	} else {
		rate, err := strconv.ParseUint(os.Args[3], 10, 64)
		check(err)
		forward(address, rate, os.Args[4:])
	}
}

func printVersion() {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/apernet/hysteria/core/v2" {
				fmt.Println(module.Version)
			}
		}
	}
}

// Accepts every client: only the two hosts of the comparison can reach the server.
type anyone struct{}

func (anyone) Authenticate(net.Addr, string, uint64) (bool, string) { return true, "client" }

func serve(address *net.UDPAddr) {
	conn, err := net.ListenUDP("udp", address)
	check(err)
	s, err := server.NewServer(&server.Config{
		Conn:          conn,
		TLSConfig:     server.TLSConfig{Certificates: []tls.Certificate{certificate()}},
		Authenticator: anyone{},
	})
	check(err)
	check(s.Serve())
}

func forward(address *net.UDPAddr, rate uint64, ports []string) {
	c, _, err := client.NewClient(&client.Config{
		ServerAddr:      address,
		TLSConfig:       client.TLSConfig{ServerName: "compare", InsecureSkipVerify: true},
		BandwidthConfig: client.BandwidthConfig{MaxTx: rate, MaxRx: rate},
	})
	check(err)
	for _, port := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		check(err)
		go accept(c, listener, "127.0.0.1:"+port)
	}
	select {}
}

func accept(c client.Client, listener net.Listener, target string) {
	for {
		local, err := listener.Accept()
		check(err)
		go func() {
			defer local.Close()
			remote, err := c.TCP(target)
			if err != nil {
				log.Print(err)
				return
			}
			defer remote.Close()
			go io.Copy(local, remote)
			io.Copy(remote, local)
		}()
	}
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"compare"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
