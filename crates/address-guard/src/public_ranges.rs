//! The address ranges of the public Internet, from the IANA special-purpose address registries (RFC 6890 and successors). Of
//! IPv6 only global unicast (2000::/3) is public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not the public Internet: first address and prefix length.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),       // "this network", unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // shared by carriers (CGNAT)
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local; cloud metadata services
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // IETF protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24), // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24), // AMT
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // 6to4 relays, deprecated
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(192, 175, 48, 0), 24), // AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarking
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 3),     // multicast (224/4), reserved and broadcast (240/4)
];

/// Ranges inside 2000::/3 that are not the public Internet: first address and prefix length.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // IETF assignments: Teredo, benchmarking, ORCHID
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4: carries any IPv4 address
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether `ip` is an ordinary unicast address of the public Internet.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !NOT_PUBLIC_V4.iter().any(|(first, bits)| same_prefix_v4(ip, *first, *bits)),
        IpAddr::V6(ip) => {
            same_prefix_v6(ip, Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
                && !NOT_PUBLIC_V6.iter().any(|(first, bits)| same_prefix_v6(ip, *first, *bits))
        }
    }
}

fn same_prefix_v4(a: Ipv4Addr, b: Ipv4Addr, bits: u32) -> bool {
    (a.to_bits() ^ b.to_bits()).leading_zeros() >= bits
}

fn same_prefix_v6(a: Ipv6Addr, b: Ipv6Addr, bits: u32) -> bool {
    (a.to_bits() ^ b.to_bits()).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn special_ipv4_ranges_have_exact_bounds() {
        // first and last address inside, and the neighbours outside that are public
        for (first, last, before, after) in [
            ("0.0.0.0", "0.255.255.255", None, Some("1.0.0.0")),
            ("10.0.0.0", "10.255.255.255", Some("9.255.255.255"), Some("11.0.0.0")),
            ("100.64.0.0", "100.127.255.255", Some("100.63.255.255"), Some("100.128.0.0")),
            ("127.0.0.0", "127.255.255.255", Some("126.255.255.255"), Some("128.0.0.0")),
            ("169.254.0.0", "169.254.255.255", Some("169.253.255.255"), Some("169.255.0.0")),
            ("172.16.0.0", "172.31.255.255", Some("172.15.255.255"), Some("172.32.0.0")),
            ("192.0.0.0", "192.0.0.255", Some("191.255.255.255"), Some("192.0.1.0")),
            ("192.0.2.0", "192.0.2.255", Some("192.0.1.255"), Some("192.0.3.0")),
            ("192.31.196.0", "192.31.196.255", Some("192.31.195.255"), Some("192.31.197.0")),
            ("192.52.193.0", "192.52.193.255", Some("192.52.192.255"), Some("192.52.194.0")),
            ("192.88.99.0", "192.88.99.255", Some("192.88.98.255"), Some("192.88.100.0")),
            ("192.168.0.0", "192.168.255.255", Some("192.167.255.255"), Some("192.169.0.0")),
            ("192.175.48.0", "192.175.48.255", Some("192.175.47.255"), Some("192.175.49.0")),
            ("198.18.0.0", "198.19.255.255", Some("198.17.255.255"), Some("198.20.0.0")),
            ("198.51.100.0", "198.51.100.255", Some("198.51.99.255"), Some("198.51.101.0")),
            ("203.0.113.0", "203.0.113.255", Some("203.0.112.255"), Some("203.0.114.0")),
            ("224.0.0.0", "255.255.255.255", Some("223.255.255.255"), None),
        ] {
            assert!(!public(first), "{first}");
            assert!(!public(last), "{last}");
            assert!(before.is_none_or(public), "{before:?}");
            assert!(after.is_none_or(public), "{after:?}");
        }
    }

    #[test]
    fn only_ipv6_global_unicast_is_public() {
        for (what, refused) in [
            ("unspecified and loopback", &["::", "::1"][..]),
            // Refused even for a public IPv4 address, which must be written as IPv4.
            ("v4-compatible", &["::7f00:1", "::808:808"]),
            ("v4-mapped", &["::ffff:127.0.0.1", "::ffff:8.8.8.8"]),
            ("NAT64", &["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"]),
            ("discard-only", &["100::1"]),
            ("Teredo, benchmarking, ORCHIDv2", &["2001::1", "2001:0:1::f7f7:f7f7", "2001:2::1", "2001:20::1"]),
            ("last of the IETF assignments", &["2001:1ff:ffff::1"]),
            ("documentation", &["2001:db8::1", "3fff::1", "3fff:fff:ffff::1"]),
            ("6to4", &["2002:7f00:1::1", "2002:808:808::1"]),
            ("AS112", &["2620:4f:8000::1"]),
            ("not assigned, segment routing", &["4000::1", "5f00::1"]),
            ("unique local", &["fc00::1", "fdff:ffff::1"]),
            ("link-local and site-local", &["fe80::1", "febf::1", "fec0::1"]),
            ("multicast", &["ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]),
        ] {
            assert!(!refused.iter().any(|ip| public(ip)), "{what}");
        }
        for fine in ["2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a01:4f8::1", "2003::1"] {
            assert!(public(fine), "{fine}");
        }
        assert!(public("3fff:1000::1") && public("2620:4f:7fff::1"));
    }
}
