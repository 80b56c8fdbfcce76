import type { Config } from '../../src/config/config.ts'
import { mediocreRule, type ProviderAnswer, type ProviderRequest, type WrittenRule } from '../../src/testing.ts'
import { seedFor } from '../testing/mediocre-endings.ts'
import type { House } from './house.ts'
import { call, callsOnce, spawns, spawnsAgent, startsPlan, withChildren } from './scripted-calls.ts'

/** Someone who uses a heddle while things happen to it. */
export interface Person {
  ask(content: string, wishes?: { kind?: 'steer'; timeoutSeconds?: number; session?: string }): Promise<void>
  /** True when the provider has been asked exactly this; false when everything has come to rest without it. */
  sees(content: string): Promise<boolean>
  /** Stops the session's last run and all that it began. */
  cancel(reason: string): Promise<void>
  /** Adds a job for a moment that is near, whose answer goes to the main session; once, by its name. */
  schedule(name: string, message: string): Promise<void>
  /** Says yes to every question until nothing is left to do. */
  approveAll(): Promise<void>
  /** Adds a user with a token. */
  admit(user: string): Promise<void>
  /** Asks with the user's token, twice by the same key. */
  askAs(user: string, content: string): Promise<void>
  /** Revokes the user's tokens, and tries each after that. */
  turnOut(user: string): Promise<void>
  /** Undoes what the runs of the session wrote. */
  undoAll(): Promise<void>
  /** Waits until a memory is found by its meaning. */
  findByMeaning(content: string): Promise<void>
}

/** What a process does before it is killed, and what must come of it. A new entry below is all that it takes. */
export interface Scenario {
  /** What the provider answers; what no rule knows is answered plainly. */
  rules: WrittenRule[]
  /** Answers before the rules do, by what the request says; undefined leaves it to them. */
  answers?(request: ProviderRequest): ProviderAnswer | undefined
  /** How each of its runs may end: a state, with the error's code unless it completed. */
  ends: string[]
  /** What people do before anything works, in each process anew. No second process plays such a scenario beside the first. */
  before?(house: House): Promise<void>
  first(me: Person): Promise<void>
  /** What somebody else does meanwhile: the same process, or, in a pair, the other one. */
  second?(me: Person): Promise<void>
  /** What they ask for again once the process is dead or asleep, by the same keys. */
  again?(me: Person): Promise<void>
  /** Its session is made on the way: no second process of a home can work for it. */
  makesSession?: boolean
  /** Tokens that a request may cost: the checker holds the ledger against it. */
  budget?: number
  /** Tokens that fit into the model's window. */
  window?: number
  /** Works in a folder with files. */
  hasFolder?: true
  /** Has an embedder. */
  hasEmbedder?: true
  /** Begins without a home and without a schema. */
  fresh?: boolean
  /** Who answers; the one that does things itself unless another is named. */
  agent?: string
  config?(usual: Config): Config
}

// Slow enough that something can happen meanwhile; only the first attempt, so that recovery is not made to wait again.
const slowly = { pieceBytes: 24, pause: 20 }
// Slow enough for word from another process, which looks once a second.
const verySlowly = { pieceBytes: 24, pause: 30 }

const errandsFor = (count: number) =>
  Array.from({ length: count }, (_, at) => `errand of child-${String(at + 1).padStart(2, '0')}`)
const errands = errandsFor(10)

const chores = {
  project: { title: 'Chores' },
  tasks: Object.entries({ a: [], b: [], c: [], d: ['a', 'b'], e: ['b', 'c'], f: ['d', 'e'], g: ['f'] }).map(
    ([key, needs]) => ({
      key,
      title: `Chore ${key}`,
      context: `Do chore ${key}.\nSay what came of it.`,
      skill: 'researcher',
      depends_on: needs,
    }),
  ),
}

const badJob = '4 tasks by the liar, the half-json-caller, the looper and the silent'

const memory = 'The gate is painted green.'

const guestSession = 'user:guest:main'

export const scenarios = {
  fresh: { rules: [], ends: ['completed'], fresh: true, first: (me) => me.ask('first question ever') },

  plain: { rules: [], ends: ['completed'], first: (me) => me.ask('plain question') },

  two: {
    rules: [
      { attempts: 1, ...callsOnce('first question', ['put']), answer: { calls: [call('put')], faults: slowly } },
      callsOnce('first question', ['put']),
    ],
    ends: ['completed'],
    first: (me) => me.ask('first question'),
    async second(me) {
      if (await me.sees('first question')) await me.ask('second question')
    },
  },

  tools: {
    rules: [callsOnce('tools question', ['look', 'put', 'push', 'note', 'push'])],
    ends: ['completed'],
    first: (me) => me.ask('tools question'),
  },

  retries: {
    // The first failure leaves the pause to the engine, the second asks for none.
    rules: [
      { when: 'stumble', attempts: 1, answer: { faults: { status: { code: 503 } } } },
      { when: 'stumble', attempts: 2, answer: { faults: { status: { code: 503, headers: { 'retry-after': '0' } } } } },
    ],
    ends: ['completed'],
    first: (me) => me.ask('stumble question'),
  },

  steer: {
    rules: [
      { attempts: 1, ...callsOnce('errand question', ['push']), answer: { calls: [call('push')], faults: slowly } },
      callsOnce('errand question', ['push']),
    ],
    ends: ['completed'],
    first: (me) => me.ask('errand question'),
    async second(me) {
      if (await me.sees('errand question')) await me.ask('rather do this', { kind: 'steer' })
    },
  },

  cancel: {
    rules: [{ when: 'endless', attempts: 1, answer: { text: 'an answer that nobody waits for', faults: verySlowly } }],
    ends: ['completed', 'cancelled:cancelled'],
    first: (me) => me.ask('endless question'),
    async second(me) {
      if (await me.sees('endless question')) await me.cancel('it takes too long')
    },
  },

  timeout: {
    rules: [callsOnce('hang question', ['hang'])],
    ends: ['timeout:timeout'],
    first: (me) => me.ask('hang question', { timeoutSeconds: 0.4 }),
  },

  join: {
    rules: [
      spawns('join question', errands),
      { when: 'errand of child-01', attempts: 1, answer: { text: 'a slow report', faults: slowly } },
      callsOnce('errand of child-02', ['push']),
      callsOnce('errand of child-03', ['look', 'note']),
    ],
    ends: ['completed'],
    first: (me) => me.ask('join question'),
    async second(me) {
      if (await me.sees('errand of child-01')) await me.ask('question in between')
    },
    config: withChildren(errands.length),
  },

  one: {
    rules: [spawns('one question', errandsFor(1))],
    ends: ['completed'],
    first: (me) => me.ask('one question'),
  },

  hundred: {
    rules: [spawns('hundred question', errandsFor(100))],
    ends: ['completed'],
    first: (me) => me.ask('hundred question'),
    config: withChildren(100),
  },

  deep: {
    // Two sub-agents, each of which starts two more and goes on with their results.
    rules: [
      spawns('deep question', ['outer errand 1', 'outer errand 2']),
      spawns('outer errand 1', ['inner errand 1', 'inner errand 2']),
      spawns('outer errand 2', ['inner errand 3', 'inner errand 4']),
    ],
    ends: ['completed'],
    first: (me) => me.ask('deep question'),
    config: (usual) => ({
      ...usual,
      tools: { ...usual.tools, subagents: { ...usual.tools.subagents, maxSpawnDepth: 2 } },
    }),
  },

  disown: {
    rules: [
      spawns('disown question', errands.slice(0, 3)),
      { when: 'errand of', attempts: 1, answer: { text: 'a report that nobody waits for', faults: slowly } },
    ],
    ends: ['completed', 'cancelled:cancelled'],
    first: (me) => me.ask('disown question'),
    async second(me) {
      if (await me.sees('errand of child-01')) await me.cancel('nobody wants it any more')
    },
  },

  budget: {
    // Never done: each call costs 4000 tokens, and 8192 and a few are set aside for it before.
    rules: [{ when: 'budget question', answer: { calls: [call('look')], usage: { outputTokens: 4000 } } }],
    ends: ['failed:budget_spent'],
    budget: 20_000,
    first: (me) => me.ask('budget question'),
  },

  pool: {
    // Three children draw on the budget of one request at the same time, and there is enough for two calls at once.
    rules: [
      spawns('pool question', errands.slice(0, 3)),
      { when: 'errand of', answer: { calls: [call('look')], usage: { outputTokens: 4000 } } },
    ],
    ends: ['completed', 'failed:budget_spent'],
    budget: 20_000,
    first: (me) => me.ask('pool question'),
  },

  compact: {
    // Two long turns fill the small window; the third needs room first, and its tool round needs it again.
    rules: [
      { when: 'user: long question', answer: { text: 'they spoke at length' } },
      { when: 'long question', answer: { text: 'long answer '.repeat(700) } },
      callsOnce('last question', ['look', 'put']),
    ],
    ends: ['completed'],
    async first(me) {
      await me.ask('long question 1')
      if (await me.sees('long question 1')) await me.ask('long question 2')
      if (await me.sees('long question 2')) await me.ask('last question')
    },
    window: 6000,
  },

  plan: {
    // Three wide, then two, then one, then one: what needs another begins with the commit of its end.
    rules: [
      {
        when: 'plan question',
        after: 'user',
        answer: { calls: [spawnsAgent('plan errand', 'project-planner'), call('wait', 2)] },
      },
      { when: 'plan errand', after: 'user', answer: { calls: [{ ...call('plan_tasks'), input: chores }] } },
      { when: 'Chore b\n', attempts: 1, after: 'user', answer: { text: 'a slow report', faults: slowly } },
    ],
    ends: ['completed'],
    agent: '@coordinator',
    answers: startsPlan,
    first: (me) => me.ask('plan question'),
  },

  hall: {
    // Mediocre models: the coordinator lies, and of the tasks one after the other is claimed, mended, repeated and left out.
    rules: [],
    ends: ['completed', 'failed:looping', 'failed:nothing_returned'],
    agent: '@coordinator',
    answers: mediocreRule({ seed: seedFor(badJob, undefined, true) }),
    first: (me) => me.ask(badJob),
  },

  tidy: {
    // Three sub-agents whose transcripts go once their results were read.
    rules: [spawns('tidy question', errands.slice(0, 3), { cleanup: 'delete' })],
    ends: ['completed'],
    first: (me) => me.ask('tidy question'),
  },

  jobs: {
    // A fire with three sub-agents: one answer, when all of them have ended, beside somebody who speaks.
    rules: [
      spawns('job question', errands.slice(0, 3)),
      { when: 'errand of child-01', attempts: 1, answer: { text: 'a slow report', faults: slowly } },
    ],
    ends: ['completed'],
    makesSession: true,
    first: scheduleJob,
    async second(me) {
      if (await me.sees('job question')) await me.ask('question in between')
    },
    again: scheduleJob,
  },

  approve: {
    // A reply that only asks, and one whose other calls are made first.
    rules: [callsOnce('asking question', ['push']), callsOnce('mixed question', ['look', 'push', 'put'])],
    ends: ['completed'],
    async first(me) {
      await me.ask('asking question')
      await me.ask('mixed question')
      await me.approveAll()
    },
    async second(me) {
      for (const question of ['asking question', 'mixed question']) if (await me.sees(question)) await me.approveAll()
    },
    again: (me) => me.approveAll(),
    config: (usual) => ({ ...usual, tools: { ...usual.tools, ask: ['push'] } }),
  },

  access: {
    rules: [{ when: 'guest question', attempts: 1, answer: { text: 'an answer for the guest', faults: slowly } }],
    ends: ['completed'],
    makesSession: true,
    first: receiveGuest,
    async second(me) {
      if (await me.sees('guest question')) await me.ask('question of the owner', { session: guestSession })
    },
    again: receiveGuest,
  },

  tree: {
    // All that people do by hand, and a run that writes a file and runs a command before its writes are undone.
    rules: [
      {
        when: 'write question',
        after: 'user',
        answer: {
          calls: [
            { ...call('write_file', 1), input: { path: 'note.txt', content: 'written' } },
            { ...call('exec', 2), input: { command: 'echo made > made.txt' } },
          ],
        },
      },
    ],
    ends: ['completed'],
    hasFolder: true,
    hasEmbedder: true,
    async before(house) {
      await house.growTree()
      await house.remember(memory)
    },
    first: tendTree,
    again: tendTree,
  },

  keep: {
    rules: [],
    ends: ['completed'],
    async before(house) {
      await house.configure('retention.eventDays', '31')
      await house.backUpAndRestore()
    },
    first: askAfterRestore,
    again: askAfterRestore,
  },

  stall: {
    rules: [callsOnce('stall question', ['stall', 'push'])],
    ends: ['completed'],
    first: (me) => me.ask('stall question'),
  },
} satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof scenarios

export function scenarioNamed(name: ScenarioName): Scenario {
  return scenarios[name]
}

/** All but the stall, which takes longer than a lease each time, and the hundred, which pass the places of ten. */
export const crashScenarios = (Object.keys(scenarios) as ScenarioName[]).filter(
  (name) => name !== 'stall' && name !== 'hundred',
)

async function receiveGuest(me: Person): Promise<void> {
  await me.admit('guest')
  await me.askAs('guest', 'guest question')
  await me.turnOut('guest')
}

async function tendTree(me: Person): Promise<void> {
  await me.ask('write question')
  await me.approveAll()
  await me.undoAll()
  await me.findByMeaning(memory)
}

function askAfterRestore(me: Person): Promise<void> {
  return me.ask('question after a restore')
}

function scheduleJob(me: Person): Promise<void> {
  return me.schedule('briefing', 'job question')
}

/** Whether two processes can play it at once: where there is no session yet, none can work for it beside the first. */
export function canPair(name: ScenarioName, database: string): boolean {
  const { fresh, makesSession, before } = scenarioNamed(name)
  return !fresh && !before && !(makesSession && database === 'sqlite')
}
