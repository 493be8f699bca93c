import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPrivateAddress } from '../../workflows/outgoing/private-address.ts'

const REFUSED = [
  ...['0.0.0.0', '0.255.1.2', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1'],
  ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.168.0.1', '198.18.0.1', '198.19.255.255'],
  ...['224.0.0.1', '239.1.2.3', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '0:0:0:0:0:0:0:1', 'fc00::1', 'fdff::1', 'fe80::1', 'febf::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::FFFF:10.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:169.254.169.254', '::127.0.0.1', '::ffff:0:10.0.0.1'],
  ...['64:ff9b::10.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::808:808', '2002:7f00:1::', '2002:a9fe:a9fe::1', '2001::1'],
  ...['', 'localhost', '0x7f.1', '127.1', '2130706433', '1.2.3.4.5', '::ffff:1.2.3'],
]
const PUBLIC = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ...['169.253.255.255', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
  ...['223.255.255.255', '2606:4700:4700::1111', '2a00:1450:4001::200e', 'fbff::1', '::ffff:8.8.8.8', '::ffff:808:808'],
  ...['64:ff9b::8.8.8.8', '2002:808:808::1', '2001:4860:4860::8888'],
]

describe('addresses outside the public internet', () => {
  test.each(REFUSED)('"%s" is refused', address => expect(isPrivateAddress(address)).toBe(true))
  test.each(PUBLIC)('%s may be called', address => expect(isPrivateAddress(address)).toBe(false))

  test('an IPv4 address is judged the same in every IPv6 address that carries it', () => {
    fc.assert(
      fc.property(fc.ipV4(), address => {
        const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
        const words = [a * 256 + b, c * 256 + d].map(word => word.toString(16))
        const carriers = [`::ffff:${address}`, `::ffff:${words.join(':')}`, `64:ff9b::${address}`, `2002:${words.join(':')}::5`]
        expect(carriers.map(isPrivateAddress)).toEqual(carriers.map(() => isPrivateAddress(address)))
      }),
    )
  })
})
