import { type Entered, enter, heddle } from './contestant.ts'
import { type Figure, figure, type Goal, missing, ratio, shown } from './figures.ts'
import { type Peer, type Peers, versionOf } from './peers.ts'
import type { Scratch } from './scratch.ts'

const conversations = 2
const before = 180
/** Measured around turn 200, some turns in a row each time, so that what a turn leaves for later is paid for, too. */
const blocks = 8
const inARow = 5

type Name = 'ours' | 'oursNormal' | 'langgraph' | 'langgraphNormal' | 'langgraphFull' | 'agents'

interface Comparison {
  name: string
  goal: Goal
  of: keyof Course
  peer: Name
  ours: Name
  detail: string
}

const comparisons: Comparison[] = [
  {
    name: 'LangGraph at turn 200 / ours at FULL',
    goal: { atLeast: 8 },
    of: 'times',
    peer: 'langgraph',
    ours: 'ours',
    detail: 'as it comes: durability async, synchronous NORMAL',
  },
  {
    name: 'LangGraph at turn 200 / ours, both at FULL',
    goal: { atLeast: 15 },
    of: 'times',
    peer: 'langgraphFull',
    ours: 'ours',
    detail: 'equal durability: durability sync, synchronous FULL',
  },
  {
    name: 'LangGraph at turn 200 / ours, both at NORMAL',
    goal: { atLeast: 15 },
    of: 'times',
    peer: 'langgraphNormal',
    ours: 'oursNormal',
    detail: 'equal durability: durability sync, synchronous NORMAL',
  },
  {
    name: 'LangGraph at turn 200 as it comes / ours at NORMAL',
    goal: null,
    of: 'times',
    peer: 'langgraph',
    ours: 'oursNormal',
    detail: 'durability async, synchronous NORMAL',
  },
  {
    name: 'LangGraph, bytes on disk after 200 turns / ours',
    goal: { atLeast: 50 },
    of: 'bytes',
    peer: 'langgraph',
    ours: 'ours',
    detail: 'after a checkpoint',
  },
  {
    name: 'LangGraph, bytes that a turn adds at turn 200 / ours',
    goal: { atLeast: 150 },
    of: 'growth',
    peer: 'langgraph',
    ours: 'ours',
    detail: `over turns ${before + 1} to ${before + blocks * inARow}`,
  },
  {
    name: '@openai/agents at turn 200 / ours, both at FULL',
    goal: null,
    of: 'times',
    peer: 'agents',
    ours: 'ours',
    detail: 'it brings no SQLite session: one over node:sqlite was written for this',
  },
  {
    name: '@openai/agents, bytes on disk after 200 turns / ours',
    goal: null,
    of: 'bytes',
    peer: 'agents',
    ours: 'ours',
    detail: 'it keeps the messages and nothing else',
  },
]

/** What one contestant came to in all conversations. */
interface Course {
  /** The time of each turn around turn 200. */
  times: number[]
  /** Bytes at turn 200, and added per turn around it, of each conversation. */
  bytes: number[]
  growth: number[]
}

/** The same conversation, held by everybody with the same model, each in a process of its own, taking turns. */
export async function measureConversation(scratch: Scratch, peers: Peers): Promise<Figure[]> {
  const ours = { program: heddle }
  const entries: Record<Name, [who: Peer, settings: object]> = {
    ours: [ours, { durability: 'full', atOnce: 16 }],
    oursNormal: [ours, { durability: 'normal', atOnce: 16 }],
    langgraph: [peers.langgraph, { durability: 'async' }],
    langgraphNormal: [peers.langgraph, { durability: 'sync', synchronous: 'NORMAL' }],
    langgraphFull: [peers.langgraph, { durability: 'sync', synchronous: 'FULL' }],
    agents: [peers.openaiAgents, { synchronous: 'FULL' }],
  }
  const courses = new Map<string, Course>()
  for (const name of Object.keys(entries)) courses.set(name, { times: [], bytes: [], growth: [] })
  for (let number = 1; number <= conversations; number++) {
    scratch.say(`conversation ${number} of ${conversations} with every peer`)
    const entered = Object.entries(entries).flatMap(([name, [who, settings]]) =>
      'missing' in who
        ? []
        : {
            who: enter(scratch, `conversation-${number}-${name}`, who.program, settings),
            course: courses.get(name) as Course,
          },
    )
    await hold(entered)
    for (const { who } of entered) await who.leave()
  }
  return comparisons.map((comparison) => {
    const [peer] = entries[comparison.peer]
    return 'missing' in peer
      ? missing(comparison.name, 'ratio', comparison.goal, peer.missing)
      : compare(comparison, courses)
  })
}

async function hold(entered: { who: Entered; course: Course }[]): Promise<void> {
  const sizes = entered.map((): number[] => [])
  const weigh = async (who: Entered, at: number) => sizes[at]?.push((await who.ask({ do: 'bytes' })).result as number)
  for (const [at, { who }] of entered.entries()) {
    await who.ask({ do: 'turns', count: before })
    await weigh(who, at)
  }
  for (let block = 1; block <= blocks; block++)
    for (const [at, { who, course }] of entered.entries()) {
      const { result } = await who.ask({ do: 'turns', count: inARow })
      course.times.push(...(result as number[]))
      if (block === blocks / 2 || block === blocks) await weigh(who, at)
    }
  for (const [at, { course }] of entered.entries()) {
    const [first = 0, middle = 0, last = 0] = sizes[at] ?? []
    course.bytes.push(middle)
    course.growth.push((last - first) / (blocks * inARow))
  }
}

function compare({ name, goal, of, peer, ours, detail }: Comparison, courses: Map<string, Course>): Figure {
  const [theirs = [], own = []] = [courses.get(peer)?.[of], courses.get(ours)?.[of]]
  const more = `${detail}; ${versionsOf(peer)}`
  if (of === 'times') return ratio(name, goal, { ours: theirs, floor: own }, ['peer', 'ours'], more)
  const ratios = theirs.map((bytes, at) => bytes / (own[at] ?? Number.NaN))
  const [peerKb, ourKb] = [theirs, own].map(([bytes = 0]) => shown(bytes / 1000))
  return figure(name, 'ratio', goal, ratios, `peer ${peerKb} kB / ours ${ourKb} kB, ${more}`)
}

function versionsOf(peer: Name): string {
  if (peer === 'agents') return `@openai/agents ${versionOf('@openai/agents')}`
  // The driver that the checkpointer asks for, 12.x, takes a process of Node 24.19 and later down.
  return `@langchain/langgraph ${versionOf('@langchain/langgraph')}, SqliteSaver on better-sqlite3 ${versionOf('better-sqlite3')}`
}
