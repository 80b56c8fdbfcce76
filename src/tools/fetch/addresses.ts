import { isIPv4, isIPv6 } from 'node:net'

const embeddedIPv4 = 'an embedded IPv4 address'

/**
 * Reason why an address is not public; undefined for a public one. An address that cannot be parsed is not public, and
 * neither is one that embeds another: the translating gateway decides where it leads.
 */
export function nonPublicReason(address: string): string | undefined {
  if (isIPv4(address)) return firstMatch(ipv4Ranges, bytesOfIPv4(address))
  if (!isIPv6(address)) return 'not an address'
  // A zone is valid on one machine only.
  if (address.includes('%')) return 'link-local'
  const bytes = bytesOfIPv6(address)
  return firstMatch(ipv6Ranges, bytes) ?? (isIsatap(bytes) ? embeddedIPv4 : undefined)
}

interface Range {
  bytes: readonly number[]
  bits: number
  why: string
}

const ipv4Ranges = rangesOf(bytesOfIPv4, {
  'this network': ['0.0.0.0/8'],
  'this machine': ['127.0.0.0/8'],
  'a private network': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'shared by a provider': ['100.64.0.0/10'],
  'link-local': ['169.254.0.0/16'],
  // Azure serves instance metadata at an address that looks public.
  'the host of a cloud': ['168.63.129.16/32'],
  multicast: ['224.0.0.0/4'],
  reserved: [
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    '240.0.0.0/4',
  ],
})

const ipv6Ranges = [
  ...rangesOf(bytesOfIPv6, {
    'this machine': ['::1/128'],
    'this network': ['::/128'],
    [embeddedIPv4]: [
      '::/96',
      '::ffff:0:0/96',
      '::ffff:0:0:0/96',
      '64:ff9b::/96',
      '64:ff9b:1::/48',
      '2002::/16',
      '2001::/32',
    ],
    'a private network': ['fc00::/7', 'fec0::/10'],
    'link-local': ['fe80::/10'],
    multicast: ['ff00::/8'],
    reserved: ['2001::/23', '2001:db8::/32', '3fff::/20'],
  }),
  // Only 2000::/3 is assigned for public use.
  ...rangesOf(bytesOfIPv6, { reserved: ['::/3', '4000::/2', '8000::/1'] }),
]

function rangesOf(bytesOf: (address: string) => number[], table: Record<string, readonly string[]>): Range[] {
  return Object.entries(table).flatMap(([why, ranges]) =>
    ranges.map((range) => {
      const [address = '', bits] = range.split('/')
      return { bytes: bytesOf(address), bits: Number(bits), why }
    }),
  )
}

function firstMatch(ranges: readonly Range[], bytes: readonly number[]): string | undefined {
  return ranges.find((range) => isIn(range, bytes))?.why
}

function isIn(range: Range, bytes: readonly number[]): boolean {
  return range.bytes.every((byte, at) => {
    const bits = Math.min(8, Math.max(0, range.bits - at * 8))
    return (byte ^ (bytes[at] ?? 0)) >> (8 - bits) === 0
  })
}

/** ISATAP embeds an IPv4 address after 0000:5efe or 0200:5efe, behind any prefix. */
function isIsatap(bytes: readonly number[]): boolean {
  return ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
}

function bytesOfIPv4(address: string): number[] {
  return address.split('.').map(Number)
}

/** Expects a valid address; it may end as an IPv4 one, and leave out one run of zeros. */
function bytesOfIPv6(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const before = bytesOfGroups(head)
  const after = bytesOfGroups(tail ?? '')
  return [...before, ...Array<number>(16 - before.length - after.length).fill(0), ...after]
}

function bytesOfGroups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return bytesOfIPv4(group)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}
