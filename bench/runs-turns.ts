import { join } from 'node:path'
import type { App } from '../src/api/app.ts'
import { openBare } from './bare.ts'
import { type Figure, measurePairs, type Pairs, ratio } from './figures.ts'
import { ask, indexAll, openHome } from './home.ts'
import type { LargeHome } from './large-home.ts'
import { draftOf, folder, growBy, type Scratch } from './scratch.ts'
import { conversation, zeroLatencyModel } from './zero-latency.ts'

const draft = draftOf(670)
const deep = 10_000
const shallow = 10
const window = 50

/** Our turns against a program that does no more than the same work, and against ourselves further down. */
export async function measureTurns(scratch: Scratch, large: LargeHome): Promise<Figure[]> {
  return [await measureFloor(scratch), ...(await measureDepths(scratch)), await measureCrowd(scratch, large)]
}

/** Both hold the same conversations; each block is the turns around turn 200 of one of them. */
async function measureFloor(scratch: Scratch): Promise<Figure> {
  scratch.say('turn 200 against a bare program')
  const rounds = { pairs: 40, warmUp: 10 }
  const inARow = 10
  const labels = Array.from({ length: rounds.pairs + rounds.warmUp }, (_, number) => `session-${number}`)
  const depth = 200 - inARow / 2
  const app = await openHome({ home: join(scratch.directory, 'floor'), model: zeroLatencyModel() })
  await growBy((session) => app.append(folder, { session, draft }), labels, labels.length * depth)
  await indexAll(app)
  const bare = openBare(scratch, 'floor-bare', zeroLatencyModel())
  for (const label of labels) bare.grow(label, depth, draft)
  const work = await app.work()
  const pairs = await measurePairs(
    {
      ours: (round) => converse(app, labels[round] ?? '', inARow),
      floor: (round) => repeat(inARow, () => bare.turn(labels[round] ?? '', conversation.question)),
    },
    rounds,
  )
  await work.stop()
  await app.close()
  bare.close()
  return ratio(
    'turn 200 / a bare program',
    { atMost: 1.5 },
    perTurn(pairs, inARow),
    ['ours', 'bare'],
    `${inARow} turns each; bare: input and turn in two durable commits, the path by a recursive query, parsed`,
  )
}

/** Deep sessions end in a compaction, so that the model sees 50 turns of them; at turn 10 it sees the nine there are. */
async function measureDepths(scratch: Scratch): Promise<Figure[]> {
  scratch.say(`turn ${deep} against turn ${shallow}`)
  const rounds = { pairs: 60, warmUp: 20 }
  const inARow = 5
  const half = (inARow - 1) / 2
  const labels = (kind: string) =>
    Array.from({ length: rounds.pairs + rounds.warmUp }, (_, number) => `${kind}-${number}`)
  const app = await openHome({ home: join(scratch.directory, 'deep-runs'), model: zeroLatencyModel() })
  const other = await openHome({ home: join(scratch.directory, 'shallow-runs'), model: zeroLatencyModel() })
  const againstShallow = labels('a')
  const againstWindow = labels('b')
  await growDeep(app, [...againstShallow, ...againstWindow], deep - 1 - half, half)
  for (const [kind, turns] of [
    ['shallow', shallow - 1 - half],
    ['window', window - half],
  ] as const)
    await growBy((session) => other.append(folder, { session, draft }), labels(kind), labels(kind).length * turns)
  for (const each of [app, other]) await indexAll(each)
  const works = [await app.work(), await other.work()]
  const compare = async (deepLabels: string[], kind: string) =>
    perTurn(
      await measurePairs(
        {
          ours: (round) => converse(app, deepLabels[round] ?? '', inARow),
          floor: (round) => converse(other, labels(kind)[round] ?? '', inARow),
        },
        rounds,
      ),
      inARow,
    )
  const depths = await compare(againstShallow, 'shallow')
  const windows = await compare(againstWindow, 'window')
  for (const work of works) await work.stop()
  for (const each of [app, other]) await each.close()
  return [
    ratio(
      `turn ${deep} with a window of ${window} turns / turn ${shallow}`,
      { atMost: 1.3 },
      depths,
      ['deep', 'shallow'],
      `the model sees a compaction and ${window - 1} turns / ${shallow - 1} turns`,
    ),
    ratio(
      `turn ${deep} with a window of ${window} turns / turn ${window + 1}`,
      null,
      windows,
      ['deep', 'shallow'],
      `the model sees ${window} turns on both sides`,
    ),
  ]
}

/** The same short sessions, in a home that holds much besides and in one that holds nothing else. */
async function measureCrowd(scratch: Scratch, large: LargeHome): Promise<Figure> {
  scratch.say(`a turn among ${large.turns}`)
  const crowded = await openHome({ home: large.copy('crowd'), model: zeroLatencyModel() })
  const empty = await openHome({ home: join(scratch.directory, 'empty'), model: zeroLatencyModel() })
  const works = [await crowded.work(), await empty.work()]
  const pairs = await measurePairs(
    {
      ours: (round) => converse(crowded, `session-of-its-own-${round}`, 5),
      floor: (round) => converse(empty, `session-of-its-own-${round}`, 5),
    },
    { pairs: 30, warmUp: 10 },
  )
  for (const work of works) await work.stop()
  for (const app of [crowded, empty]) await app.close()
  const name = `a turn in a home of ${large.turns} turns / in an empty one`
  return ratio(name, null, perTurn(pairs, 5), ['large', 'empty'], 'the first five turns of new sessions')
}

/** Sessions of one depth whose last turn is a compaction; the middle one of the turns that follow sees the window. */
async function growDeep(app: App, labels: string[], depth: number, half: number): Promise<void> {
  const trunk = depth - 1
  const [head = ''] = await growBy((session) => app.append(folder, { session, draft }), ['trunk'], trunk)
  const compaction = { ...draft, compactsTo: trunk - (window - 1 - half) }
  for (const label of labels) {
    await app.fork(folder, { turn: `turn:${head}`, label })
    await app.append(folder, { session: label, draft: compaction })
  }
  const seen = await app.context(folder, `session:${labels[0]}`)
  if (seen.length !== window - half) throw new Error(`the model would see ${seen.length} turns`)
}

function converse(app: App, label: string, turns: number): Promise<void> {
  return repeat(turns, () => ask(app, label, conversation.question))
}

async function repeat(times: number, turn: () => Promise<void>): Promise<void> {
  for (let number = 0; number < times; number++) await turn()
}

function perTurn({ ours, floor }: Pairs, turns: number): Pairs {
  return { ours: ours.map((time) => time / turns), floor: floor.map((time) => time / turns) }
}
