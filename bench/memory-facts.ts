/** One planted fact, asked for in two ways. */
export interface Fact {
  content: string
  /** With some of its words, as somebody asks who remembers how it was put. */
  asked: string
  /** With its two names and no other word of it. */
  askedOtherwise: string
}

/** What a home with many memories holds: facts to look for, and everything around them. */
export interface Known {
  facts: Fact[]
  others: string[]
  /** Words that are in more than a tenth of all, by how often. */
  common: string[]
}

const shapes: [content: string, asked: string, askedOtherwise: string][] = [
  ['The P team keeps its T in the VALUE vault', 'where does the P team keep its T?', 'P T storage location'],
  ['For P we decided to write the T by hand in VALUE', 'was the T of P decided to be by hand?', 'P T manual or not'],
  ['P breaks when its T grow beyond VALUE megabytes', 'how large may T grow in P?', 'size limit: P T'],
  ['Somebody from VALUE reviews every T of P on Mondays', 'who reviews the T of P?', 'P T second pair of eyes'],
  ['The T that P produces are deleted after VALUE days', 'when are T of P deleted?', 'retention in P, T'],
  ['Never restart P while T are copied to VALUE', 'may I restart P while T are copied?', 'P T reboot safe?'],
  ['P reads its T from the VALUE bucket at midnight', 'which bucket has the T that P reads?', 'P T source overnight'],
  ['Customers of P pay for T by the VALUE', 'how do customers pay for T in P?', 'P T billing unit'],
  ['The dashboard of P shows T as VALUE charts', 'how does the dashboard of P show T?', 'P T on screen'],
  ['P was forked from VALUE to get rid of T', 'what was P forked from because of T?', 'origin: P T'],
  ['An outage of P in March lost the T of VALUE', 'which T were lost in the outage of P?', 'P incident spring T'],
  ['Tests of P need T from the VALUE fixture', 'which fixture with T do tests of P need?', 'P T sample input'],
  ['P encrypts T with the key named VALUE', 'which key encrypts the T of P?', 'P T cipher secret'],
  [
    'Interns may change T in P after VALUE approved',
    'who approved that interns change T in P?',
    'P T beginners permission',
  ],
  ['P compresses T with VALUE before sending', 'what compresses T in P?', 'P T smaller wire format'],
]

const projects = (
  'anchor beacon cobalt dynamo ember falcon granite harbor indigo jasper kestrel lantern meadow nimbus orchid pelican ' +
  'quartz raven saffron tundra umbra vertex walnut xenon yarrow zephyr acorn bramble cinder dorado'
).split(' ')
const things = (
  'invoices backups tickets snapshots cookies thumbnails receipts contracts passwords schedules certificates logs ' +
  'manifests templates transcripts bookmarks playlists coupons badges drafts forecasts ledgers measurements notes ' +
  'orders parcels quotas recipes surveys vouchers'
).split(' ')
const values = 'copper linen marble cedar amber basalt coral denim flint hazel ivory jade maple onyx pearl'.split(' ')
const usual = 'the a to of is and in for it on we that with are not use when be at by this from must one has'.split(' ')

/**
 * Builds them, the same each time. Many of the others are facts of the same shapes about other pairs, so that no
 * single word finds a fact; the rest is prose in which words are as common as in any language.
 */
export function knownThings(total: number, planted: number): Known {
  const chance = chanceFrom(1)
  const told = shapes.flatMap((_, shape) =>
    projects.flatMap((project) => things.map((thing) => ({ shape, project, thing, order: chance() }))),
  )
  const alike = told
    .sort((a, b) => a.order - b.order)
    .map((each) => factOf(each, values[Math.floor(chance() * values.length)] ?? ''))
  const facts = alike.splice(0, planted)
  const word = wordsByRank(20_000, chance)
  const others = alike.map(({ content }) => content)
  while (others.length < total - planted)
    others.push(Array.from({ length: 8 + Math.floor(chance() * 9) }, word).join(' '))
  // In any order: of two that fit equally well the newer is told first, and that must not tell the facts apart.
  shuffle(others, chance)
  return { facts, others, common: commonIn(others) }
}

/** Evenly between 0 and 1, the same from each seed. */
export function chanceFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function factOf({ shape, project, thing }: { shape: number; project: string; thing: string }, value: string): Fact {
  const fill = (text: string) => text.replace(/\bP\b/g, project).replace(/\bT\b/g, thing).replace('VALUE', value)
  const [content = '', asked = '', askedOtherwise = ''] = (shapes[shape] ?? []).map(fill)
  return { content, asked, askedOtherwise }
}

function shuffle(texts: string[], chance: () => number): void {
  for (let at = texts.length - 1; at > 0; at--) {
    const other = Math.floor(chance() * (at + 1))
    const moved = texts[at] ?? ''
    texts[at] = texts[other] ?? ''
    texts[other] = moved
  }
}

/** The word of rank n comes n times less often than the first. */
function wordsByRank(count: number, chance: () => number): () => string {
  const syllables = 'ba ce di fo gu ka le mi no pu ra se ti vo zu'.split(' ')
  const made = (rank: number) =>
    [rank, rank / 15, rank / 225, rank / 3375].map((n) => syllables[Math.floor(n) % 15]).join('')
  const words = Array.from({ length: count }, (_, rank) => usual[rank] ?? made(rank))
  const rankOf = () => Math.floor(count ** chance()) - 1
  return () => words[rankOf()] ?? ''
}

function commonIn(texts: string[]): string[] {
  const counts = new Map<string, number>()
  for (const text of texts)
    for (const word of new Set(text.toLowerCase().split(' '))) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count > texts.length / 10)
    .sort((a, b) => b[1] - a[1])
    .map(([word]) => word)
}
