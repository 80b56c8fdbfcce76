import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nonPublicReason } from '../../src/tools/fetch/addresses.ts'
import { resolveTarget, webUrl } from '../../src/tools/fetch/fetch-target.ts'
import { get, noLookup, refusal, type Site, startSite } from './fetch-site.ts'

// Listens on all addresses of this machine: whatever is not stopped before it connects leaves a trace here.
let canary: Site
beforeAll(async () => {
  canary = await startSite((_, response) => response.end('secret'), { host: '::' })
})
afterAll(() => canary.close())

const hosts = [
  ...['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '127.255.255.254', '127.000.000.001', '0x7f.0.0.1', '0x7F.1'],
  ...['0177.0.0.1', '0177.0.0.01', '00000177.1', '2130706433', '0x7f000001', '0x7F000001.', '017700000001', '0x7f.0x1'],
  ...['%31%32%37.0.0.1', '127%2e0%2e0%2e1', '１２７.０.０.１', '127。0。0。1', '①②⑦.⓪.⓪.①', '127．0．0．1', '０x7f.1'],
  ...['0', '0.0.0.0', '0x0', '00', '0.1.2.3', '0.', '1', '255'],
  ...['10.0.0.1', '10.1', '012.0.0.1', '0xa.1', '167772161', '10.255.255.255'],
  ...[
    '172.16.0.1',
    '172.31.255.254',
    '0xac100001',
    '2886729729',
    '172.16.1',
    '192.168.0.1',
    '192.168.1',
    '0300.0250.0.1',
  ],
  ...['0xc0a80001', '3232235521', '100.64.0.1', '100.127.255.254', '100.100.100.200', '169.254.169.254', '169.254.1'],
  ...['0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '169.254.43518', '168.63.129.16', '192.0.0.192', '192.0.2.1'],
  ...['192.88.99.1', '198.18.0.1', '198.19.255.254', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.250'],
  ...['240.0.0.1', '255.255.255.255', '4294967295', '0xffffffff', '037777777777'],
  ...['[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::]', '[::127.0.0.1]', '[::7f00:1]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::FFFF:10.0.0.1]', '[::ffff:0:127.0.0.1]', '[::ffff:8.8.8.8]'],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::7f00:1]', '[64:ff9b:1:ffff::1]', '[2002:7f00:1::]'],
  ...['[2002:a00:1::1]', '[2002:c0a8:101::1]', '[2001::1]', '[2001:0:7f00:1::]', '[2001:0:53aa:64c:0:fbff:80ff:fffe]'],
  ...['[2001:db8::1]', '[3fff::1]', '[2001:10::1]', '[2001:20::1]', '[fe80::1]', '[febf::1]', '[fe80::5efe:127.0.0.1]'],
  ...['[2a00:1:2:3:0:5efe:127.0.0.1]', '[2a00:1:2:3:200:5efe:10.0.0.1]', '[fc00::1]', '[fd00:ec2::254]', '[fdff::1]'],
  ...['[fec0::1]', '[ff02::1]', '[ff0e::1]', '[100::1]', '[4000::1]', '[5f00::1]', '[8000::1]', '[::2]', '[1::1]'],
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'a.b.LocalHost.',
    'ⓛocalhost',
    'ｌｏｃａｌｈｏｓｔ',
    'loc%61lhost',
  ],
  ...[
    'local\u00adhost',
    'localhoſt',
    '[::1',
    '[fe80::1%25lo]',
    '[::1%lo]',
    '127.0.0.0.1',
    '256.0.0.1',
    '0x7f.0.0.0x',
    '',
  ],
]

describe('a host that is not public is refused before anything is sent', () => {
  test.each(hosts)('%s', async (host) => {
    expect(hosts.length).toBeGreaterThan(100)
    for (const scheme of ['http', 'https', 'HTTP']) {
      const { code } = await refusal(get(`${scheme}://${host}:${canary.port}/`, { lookup: noLookup }))
      expect(['forbidden', 'fetch_unusable']).toContain(code)
    }
    expect(canary.connections).toEqual([])
  })

  test.each([
    'http:127.0.0.1:PORT',
    'http:/127.0.0.1:PORT',
    'http:\\\\127.0.0.1:PORT',
    ' http://127.0.0.1:PORT',
    'ht\ntp://127.0.0.1:PORT',
    'http://127.0.\t0.1:PORT',
    'http://///127.0.0.1:PORT',
    'http://8.8.8.8:80@127.0.0.1:PORT/',
    'http://10.8.8.8\\@127.0.0.1:PORT/',
    'http://127.0.0.1:PORT#@8.8.8.8/',
    'http://127.0.0.1:PORT?@8.8.8.8/',
    'http://user:pass@8.8.8.8/',
    'http://user@8.8.8.8/',
    'file:///etc/passwd',
    'ftp://8.8.8.8/',
    'gopher://127.0.0.1:PORT/',
    'data:text/html,x',
    'javascript:1',
    'blob:http://127.0.0.1:PORT/x',
    'view-source:http://127.0.0.1:PORT/',
    '//127.0.0.1:PORT/',
    '127.0.0.1:PORT',
    `http://8.8.8.8/${'a'.repeat(9000)}`,
  ])('%s', async (text) => {
    const url = text.replace('PORT', String(canary.port))
    const { code } = await refusal(get(url, { lookup: noLookup }))
    expect(['forbidden', 'fetch_unusable']).toContain(code)
    expect(canary.connections).toEqual([])
  })

  test.each([0, 1, 21, 22, 23, 25, 53, 110, 143, 389, 465, 587, 993, 2049, 6000, 6667, 10080])(
    'port %d',
    async (port) => {
      expect(await refusal(get(`http://8.8.8.8:${port}/`))).toMatchObject({ code: 'forbidden' })
    },
  )
})

describe('a name is judged by all of its addresses', () => {
  test.each([
    ['this machine', ['127.0.0.1']],
    ['a public and a private one', ['93.184.216.34', '127.0.0.1']],
    ['a private and a public one', ['10.0.0.1', '93.184.216.34']],
    ['a public one and IPv6 of this machine', ['93.184.216.34', '::1']],
    ['many public ones and one that is not', [...Array(50).fill('93.184.216.34'), '169.254.169.254']],
    ['a mapped one', ['::ffff:127.0.0.1']],
    ['a mapped one, otherwise spelled', ['::ffff:7f00:1']],
    ['one that NAT64 translates', ['64:ff9b::7f00:1']],
    ['a link-local one with its zone', ['fe80::1%eth0']],
    ['one whose zone looks like an address', ['fe80::1%2a00::1']],
    ['one that only its zone makes local', ['2a00::1%eth0']],
    ['what is no address', ['localhost']],
    ['a spelling that only some understand', ['0177.0.0.1']],
    ['a number', ['2130706433']],
    ['nothing but space', [' 127.0.0.1']],
  ])('%s', async (_, addresses) => {
    let asked = 0
    const lookup = async () => {
      asked++
      return addresses
    }
    const url = `http://name.test:${canary.port}/`
    expect(await refusal(get(url, { lookup }))).toMatchObject({ code: 'forbidden' })
    expect(asked).toBe(1)
    expect(canary.connections).toEqual([])
  })

  test('a refusal names neither host nor address', async () => {
    const lookup = async () => ['10.11.12.13']
    const { message } = await refusal(get('http://intranet.corp/', { lookup }))
    expect(message).toBe('the URL leads to an address that is not public (a private network)')
  })

  test('a name without an address, and one that cannot be looked up, are told alike', async () => {
    const told = { code: 'fetch_failed', message: 'the host has no address' }
    expect(await refusal(get('http://name.test/', { lookup: async () => [] }))).toEqual(told)
    expect(await refusal(get('http://name.test/', { lookup: noLookup }))).toEqual(told)
  })
})

const privateRanges = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
].map((range) => {
  const [address = '', bits] = range.split('/')
  const first = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 }
})
const privateNumber = fc
  .constantFrom(...privateRanges)
  .chain(({ first, last }) => fc.oneof(fc.integer({ min: first, max: last }), fc.constantFrom(first, last)))
const publicNumber = fc
  .integer({ min: 0, max: 2 ** 32 - 1 })
  .filter((number) => privateRanges.every(({ first, last }) => number < first || number > last))
const spelling = fc.record({
  parts: fc.integer({ min: 1, max: 4 }),
  bases: fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }),
  zeros: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }),
  dot: fc.boolean(),
  letters: fc.constantFrom('plain', 'upper', 'wide', 'percent'),
})

describe('every spelling of an IPv4 address', () => {
  test('that is not public is refused', async () => {
    await fc.assert(
      fc.asyncProperty(privateNumber, spelling, async (number, how) => {
        const { code } = await refusal(get(`http://${spelled(number, how)}:${canary.port}/`, { lookup: noLookup }))
        expect(code).toBe('forbidden')
      }),
      { numRuns: 2000 },
    )
    expect(canary.connections).toEqual([])
  })

  test('that is public leads to that address and to no other', async () => {
    await fc.assert(
      fc.asyncProperty(publicNumber, spelling, async (number, how) => {
        const place = await resolveTarget(webUrl(`http://${spelled(number, how)}/`), noLookup, new Set())
        expect(place.addresses).toEqual([dotted(number)])
      }),
      { numRuns: 2000 },
    )
  })

  test('inside an IPv6 address is refused, public or not', () => {
    const hex = (number: number) => `${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (number) => {
        const forms = [
          `::${dotted(number)}`,
          `::ffff:${hex(number)}`,
          `64:ff9b::${hex(number)}`,
          `2002:${hex(number)}::1`,
        ]
        for (const form of [
          ...forms,
          `2001:0:${hex(number)}::`,
          `64:ff9b:1::${hex(number)}`,
          `2a00::5efe:${hex(number)}`,
        ])
          expect(nonPublicReason(form), form).toBeDefined()
      }),
    )
  })

  test.each([
    '2606:2800:220:1:248:1893:25c8:1946',
    '2a00:1450:4001:80e::200e',
    '2620:fe::fe',
    '8.8.8.8',
    '2001:4860::8888',
  ])('%s is public', (address) => expect(nonPublicReason(address)).toBeUndefined())
})

interface Spelling {
  parts: number
  bases: number[]
  zeros: number[]
  dot: boolean
  letters: string
}

/** One of the ways in which the standard lets an address be written: the last part takes all the bytes that are left. */
function spelled(number: number, { parts, bases, zeros, dot, letters }: Spelling): string {
  const bytes = dotted(number).split('.').map(Number)
  const last = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0)
  const text = [...bytes.slice(0, parts - 1), last]
    .map((value, at) => {
      const padding = '0'.repeat(zeros[at] ?? 0)
      if (bases[at] === 16) return `0x${padding}${value.toString(16)}`
      return bases[at] === 8 ? `0${padding}${value.toString(8)}` : String(value)
    })
    .join('.')
  return disguised(dot ? `${text}.` : text, letters)
}

function disguised(text: string, letters: string): string {
  if (letters === 'upper') return text.toUpperCase()
  if (letters === 'wide') return text.replace(/[0-9]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0))
  if (letters === 'percent') return text.replace(/[0-9.]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return text
}

function dotted(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
}
