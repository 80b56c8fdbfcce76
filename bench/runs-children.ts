import { bareChildren, type Entered, enter, heddle } from './contestant.ts'
import { type Figure, type Goal, median, missing, ratio, shown } from './figures.ts'
import type { Peer, Peers } from './peers.ts'
import type { Scratch } from './scratch.ts'

const some = 100
const rounds = 11
const warmUp = 3
const ours = 'ours'
const sideBySide = 'ours side by side'
const bare = 'a bare program'

/**
 * One request that starts many agents, each one tool call and an answer, until the last result is with its parent. The
 * peers start theirs side by side; ours have a parent that starts them and is woken with their results besides.
 */
export async function measureChildren(scratch: Scratch, { langgraph, openaiAgents }: Peers): Promise<Figure[]> {
  scratch.say(`${some} children against every peer`)
  const all: [name: string, who: Peer, settings: object][] = [
    [ours, { program: heddle }, { durability: 'full', atOnce: some }],
    [bare, { program: bareChildren }, {}],
    [sideBySide, { program: heddle }, { durability: 'full', atOnce: some, sideBySide: true }],
    ['LangGraph', langgraph, { durability: 'sync', synchronous: 'FULL' }],
    ['@openai/agents', openaiAgents, { synchronous: 'FULL' }],
    ['LangGraph at NORMAL', langgraph, { durability: 'async' }],
    ['@openai/agents at NORMAL', openaiAgents, { synchronous: 'NORMAL' }],
  ]
  const entered = new Map<string, Entered>()
  for (const [name, who, settings] of all)
    if ('program' in who) entered.set(name, enter(scratch, `children-${entered.size}`, who.program, settings))
  const times = await inTurn(entered)
  for (const who of entered.values()) await who.leave()
  const absent = Object.entries({ langgraph, openaiAgents }).flatMap(([name, who]) =>
    'missing' in who ? `without ${name}: ${who.missing}` : [],
  )
  const peers = [...times.keys()].filter((name) => ![ours, sideBySide, bare].includes(name))
  const atFull = peers.filter((name) => !name.endsWith('NORMAL'))
  const against = (who: string, rivals: string[], name: string, goal: Goal) =>
    againstFastest(name, goal, { times, who, rivals, absent })
  return [
    against(ours, atFull, `${some} children at FULL / the fastest peer at FULL`, { atMost: 1 }),
    against(ours, peers, `${some} children at FULL / the fastest peer however durable`, { atMost: 1 }),
    against(ours, [bare], `${some} children at FULL / ${bare} with 38 statements for each`, null),
    against(sideBySide, atFull, `${some} sessions side by side at FULL / the fastest peer at FULL`, null),
  ]
}

async function inTurn(everybody: Map<string, Entered>): Promise<Map<string, number[]>> {
  const times = new Map([...everybody.keys()].map((name): [string, number[]] => [name, []]))
  for (let round = 0; round < warmUp + rounds; round++)
    for (const [name, who] of everybody) {
      const { result } = await who.ask({ do: 'agents', count: some })
      if (round >= warmUp) times.get(name)?.push(result as number)
    }
  return times
}

interface Race {
  times: Map<string, number[]>
  who: string
  rivals: string[]
  absent: string[]
}

function againstFastest(name: string, goal: Goal, { times, who, rivals, absent }: Race): Figure {
  const of = (name: string) => times.get(name) ?? []
  const [fastest] = rivals.toSorted((a, b) => median(of(a)) - median(of(b)))
  if (fastest === undefined) return missing(name, 'ratio', goal, absent.join('; '))
  const all = [...rivals.map((rival) => `${rival} ${shown(median(of(rival)))} ms`), ...absent].join(', ')
  return ratio(name, goal, { ours: of(who), floor: of(fastest) }, [who, fastest], all)
}
