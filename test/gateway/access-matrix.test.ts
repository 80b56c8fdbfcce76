import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import { registry } from '../../src/commands/registry.ts'
import { type Action, actions } from '../../src/domain/access/actions.ts'
import { reachOf } from '../../src/domain/access/authorize.ts'
import { owner, type Principal, userRoles } from '../../src/domain/access/principal.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { systemClock } from '../../src/system.ts'
import { scriptedModel } from '../../src/testing.ts'
import { folder, newGateway, type TestGateway } from './gateway.ts'

const never = new AbortController().signal
const roles = [...userRoles, 'owner'] as const
const doors = ['App', 'socket'] as const

/** Things of one principal, as others name them. */
interface Things {
  session: string
  turn: string
  run: string
  item: string
  job: number
}

interface Case<K extends keyof App> {
  action: Action
  /** The arguments name things: those of another are hidden from whoever may reach only its own. */
  names?: true
  args(things: Things): Parameters<App[K]>
}

const draft = { query: [{ content: 'q' }], response: { content: 'a' }, toolCalls: [] }

/** How each method is called. What is allowed may fail for other reasons, so that little is changed. */
const cases: { [K in keyof App]: readonly Case<K>[] } = {
  submit: [
    { action: 'run.ask', names: true, args: ({ session }) => [folder, { session, content: 'more' }] },
    { action: 'run.steer', names: true, args: ({ session }) => [folder, { session, content: 's', kind: 'steer' }] },
    {
      action: 'run.interrupt',
      names: true,
      args: ({ session }) => [folder, { session, content: 'i', kind: 'interrupt' }],
    },
  ],
  answer: [{ action: 'run.answer', names: true, args: ({ item }) => [folder, item, never] }],
  runs: [{ action: 'run.list', args: () => [] }],
  cancel: [{ action: 'run.cancel', names: true, args: ({ run }) => [run, 'no longer needed'] }],
  retry: [{ action: 'run.retry', names: true, args: ({ run }) => [run] }],
  undo: [{ action: 'run.undo', names: true, args: ({ run }) => [run, { dryRun: true }] }],
  usage: [{ action: 'run.usage', args: () => ['model'] }],
  usageByDay: [{ action: 'run.usage', args: () => [7] }],
  runSteps: [{ action: 'turn.read', names: true, args: ({ run }) => [run] }],
  status: [{ action: 'run.status', args: () => [folder, 0] }],
  sessions: [{ action: 'session.list', args: () => [] }],
  countSessions: [{ action: 'session.list', args: () => [] }],
  routeSmart: [{ action: 'session.route', args: () => [folder, 'hello'] }],
  renameSession: [{ action: 'session.rename', names: true, args: ({ session }) => [folder, session, 'not a label'] }],
  archiveSession: [{ action: 'session.archive', names: true, args: ({ session }) => [folder, session, false] }],
  setSystemPrompt: [{ action: 'session.configure', names: true, args: ({ session }) => [folder, session, null] }],
  personas: [{ action: 'persona.list', args: () => [] }],
  setPersona: [
    {
      action: 'persona.set',
      args: () => [{ id: 'NO', identity: { name: 'x', soul: '' }, permissions: { tools: {} } }],
    },
  ],
  append: [{ action: 'turn.append', names: true, args: ({ session }) => [folder, { session, draft }] }],
  fork: [{ action: 'turn.fork', names: true, args: ({ turn }) => [folder, { turn }] }],
  log: [{ action: 'turn.read', names: true, args: ({ session }) => [folder, { of: session }] }],
  turnWindow: [{ action: 'turn.read', names: true, args: ({ session }) => [folder, { of: session }] }],
  turnTree: [{ action: 'turn.read', args: () => [] }],
  tips: [{ action: 'turn.read', args: () => [] }],
  context: [{ action: 'turn.read', names: true, args: ({ turn }) => [folder, turn] }],
  show: [
    { action: 'turn.read', names: true, args: ({ run }) => [folder, run] },
    { action: 'memory.read', args: () => [folder, 'memory:1'] },
    { action: 'persona.list', args: () => [folder, 'persona:none'] },
    { action: 'approval.list', args: () => [folder, 'approval:1'] },
  ],
  why: [
    { action: 'turn.explain', names: true, args: ({ turn }) => [folder, turn] },
    { action: 'memory.read', args: () => [folder, 'memory:1'] },
  ],
  diff: [{ action: 'turn.read', names: true, args: ({ turn }) => [folder, turn, turn] }],
  exportTurns: [{ action: 'turn.export', names: true, args: ({ session }) => [folder, session] }],
  importTurns: [{ action: 'turn.import', args: () => [(async function* () {})()] }],
  plans: [{ action: 'plan.list', args: () => [] }],
  tasks: [{ action: 'plan.list', args: () => [] }],
  results: [{ action: 'result.list', args: () => [] }],
  jobs: [{ action: 'job.list', args: () => [] }],
  jobWeek: [{ action: 'job.list', args: () => [] }],
  previewJob: [{ action: 'job.list', args: () => [{ every: '1h' }] }],
  addJob: [{ action: 'job.change', args: () => [folder, { every: '1h' }] }],
  editJob: [{ action: 'job.change', names: true, args: ({ job }) => [job, { every: '2h' }] }],
  enableJob: [{ action: 'job.change', names: true, args: ({ job }) => [job, true] }],
  removeJob: [{ action: 'job.change', args: () => [99] }],
  runJob: [{ action: 'job.change', args: () => [99] }],
  fires: [{ action: 'job.list', names: true, args: ({ job }) => [{ job }] }],
  emitEvent: [{ action: 'job.emit', args: () => ['nobody.waits'] }],
  resumeJobs: [{ action: 'job.resume', args: () => [] }],
  outbox: [{ action: 'job.list', args: () => [] }],
  retryMessage: [{ action: 'job.change', args: () => [99] }],
  subagents: [{ action: 'run.list', args: () => [] }],
  subagent: [{ action: 'run.list', names: true, args: ({ run }) => [run] }],
  changeTask: [{ action: 'plan.change', args: () => ['task:99', { action: 'skip', reason: 'x' }] }],
  approvals: [{ action: 'approval.list', args: () => [] }],
  decide: [{ action: 'approval.decide', args: () => ['99', { answer: 'no' }] }],
  grants: [{ action: 'grant.list', args: () => [] }],
  revokeGrant: [{ action: 'grant.revoke', args: () => [99] }],
  events: [{ action: 'event.read', args: () => [{}] }],
  follow: [{ action: 'event.read', args: () => [{ signal: AbortSignal.abort() }] }],
  cursor: [{ action: 'event.read', args: () => [] }],
  prune: [{ action: 'event.prune', args: () => [] }],
  commands: [{ action: 'command.list', args: () => [] }],
  command: registry.map(({ action, example }) => ({
    action,
    args: () => [folder, { session: 'main', line: example }],
  })),
  models: [{ action: 'model.list', args: () => [] }],
  agents: [{ action: 'agent.list', args: () => [folder] }],
  agent: [{ action: 'agent.inspect', args: () => [folder, 'general'] }],
  skills: [{ action: 'agent.inspect', args: () => [folder] }],
  checkAgent: [{ action: 'agent.list', args: () => [folder, 'general'] }],
  profiles: [{ action: 'profile.read', args: () => [] }],
  profile: [{ action: 'profile.read', args: () => ['none'] }],
  setProfile: [{ action: 'profile.change', args: () => ['NO', {}] }],
  deleteProfile: [{ action: 'profile.change', args: () => ['none'] }],
  profileHistory: [{ action: 'profile.read', args: () => ['none'] }],
  agentRegistry: [{ action: 'agent.list', args: () => [] }],
  setAgentRegistry: [{ action: 'agent.register', args: () => [{}, 1] }],
  registerAgent: [{ action: 'agent.register', args: () => [{ agentId: 'NO', profileId: '', description: '' }] }],
  unregisterAgent: [{ action: 'agent.register', args: () => ['@none'] }],
  registryHistory: [{ action: 'profile.read', args: () => [] }],
  pins: [{ action: 'pin.read', names: true, args: ({ session }) => [folder, session] }],
  setPin: [
    {
      action: 'pin.set',
      names: true,
      args: ({ session }) => [folder, { scope: 'session', session, profileId: 'profile:writer:v1' }],
    },
    { action: 'pin.set', args: () => [folder, { scope: 'user', profileId: 'profile:writer:v1' }] },
    { action: 'pin.share', args: () => [folder, { scope: 'workspace', profileId: 'profile:writer:v1' }] },
    { action: 'pin.share', args: () => [folder, { scope: 'global', profileId: 'profile:writer:v1' }] },
  ],
  removePin: [
    { action: 'pin.set', names: true, args: ({ session }) => [folder, { scope: 'session', session }] },
    { action: 'pin.set', args: () => [folder, { scope: 'user' }] },
    { action: 'pin.share', args: () => [folder, { scope: 'workspace' }] },
    { action: 'pin.share', args: () => [folder, { scope: 'global' }] },
  ],
  narratives: [{ action: 'memory.read', args: () => [{ limit: 1 }] }],
  memories: [{ action: 'memory.read', args: () => [{ limit: 1 }] }],
  searchMemories: [{ action: 'memory.read', args: () => ['x', { limit: 1 }] }],
  searchFiles: [{ action: 'memory.read', args: () => ['x', { limit: 1 }] }],
  search: [
    { action: 'turn.read', args: () => [folder, { query: 'x' }] },
    { action: 'turn.read', names: true, args: ({ session }) => [folder, { query: 'x', session }] },
  ],
  exportMemories: [{ action: 'memory.read', args: () => [] }],
  remember: [{ action: 'memory.write', args: () => [{ content: 'x' }] }],
  changeMemory: [{ action: 'memory.write', args: () => [99, { content: 'x' }] }],
  trustMemory: [{ action: 'memory.write', args: () => [99] }],
  forgetMemory: [{ action: 'memory.write', args: () => [99] }],
  importMemories: [{ action: 'memory.write', args: () => ['', { name: 'x', trust: false }] }],
  backup: [{ action: 'home.backup', args: () => ['/there/is/no/such/folder'] }],
  whoami: [{ action: 'user.self', args: () => [] }],
  doctor: [{ action: 'home.examine', args: () => [folder] }],
  settings: [{ action: 'config.read', args: () => [] }],
  setting: [{ action: 'config.read', args: () => ['agents.maxConcurrent'] }],
  users: [{ action: 'user.list', args: () => [] }],
  addUser: [{ action: 'user.change', args: () => ['NO', { folder }] }],
  setUser: [{ action: 'user.change', args: () => ['none', {}] }],
  removeUser: [{ action: 'user.change', args: () => ['none'] }],
  tokens: [{ action: 'token.list', args: () => [] }],
  createToken: [{ action: 'token.change', args: () => ['none'] }],
  createSignInLink: [{ action: 'token.change', args: () => ['none'] }],
  revokeToken: [{ action: 'token.change', args: () => [99] }],
  metrics: [{ action: 'home.metrics', args: () => [] }],
  audit: [{ action: 'audit.read', args: () => [] }],
}

const allCases = Object.entries(cases).flatMap(([method, list]) =>
  list.map((each) => ({ method: method as keyof App, ...(each as unknown as Case<'runs'>) })),
)

let gateway: TestGateway
const things = new Map<string, Things>()
const apps = new Map<string, App>()
const principals = new Map<string, Principal>([['owner', owner]])

beforeAll(async () => {
  gateway = await newGateway([scriptedModel(() => ({ text: 'yes' }))])
  const { app, server } = gateway
  for (const id of [...userRoles, 'other']) {
    await app.addUser(id, { role: id === 'other' ? 'public' : (id as (typeof userRoles)[number]), folder })
    const { token } = await app.createToken(id)
    const principal = await app.identify(token)
    principals.set(id, principal)
    apps.set(`${id} App`, app.as(principal))
    apps.set(`${id} socket`, daemonClient({ socket: server.path, token }, systemClock))
  }
  apps.set('owner App', app.as(owner))
  apps.set('owner socket', gateway.door)
  for (const id of [...roles, 'other']) things.set(id, await thingsOf(id))
})
afterAll(() => gateway.remove())

async function thingsOf(id: string): Promise<Things> {
  const app = apps.get(`${id} App`) as App
  const { itemId } = await app.submit(folder, { session: 'main', content: 'hello' })
  const { session, turnId, runId } = await app.answer(folder, itemId, never)
  // Whatever the role is now: the job was made when it was enough.
  const maker: Principal = id === 'owner' ? owner : { kind: 'user', id, role: 'operator' }
  const job = await gateway.app.as(maker).addJob(folder, { every: '1h', message: 'look' })
  return { session, turn: `turn:${turnId}`, run: `run:${runId}`, item: itemId, job: job.id }
}

/** What came of a call: refused, hidden as if it did not exist, or neither. */
async function outcomeOf(id: string, door: string, { method, args }: (typeof allCases)[number], whose: string) {
  const app = apps.get(`${id} ${door}`) as App
  try {
    const call = app[method] as (...given: unknown[]) => Promise<unknown> & AsyncIterable<unknown>
    const answer = call(...args(things.get(whose) as Things))
    if (Symbol.asyncIterator in answer) for await (const _ of answer) break
    else await answer
    return 'allowed'
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'forbidden') return 'forbidden'
    return code === 'not_found' ? 'hidden' : 'allowed'
  }
}

describe.each(doors)('by the %s', (door) => {
  test.each(roles)('%s may do what the table says, and nothing else', async (role) => {
    for (const each of allCases) {
      // The stream of events is a route of its own on the socket.
      if (each.method === 'follow' && door === 'socket') continue
      const reach = reachOf(principals.get(role) as Principal, each.action)
      for (const whose of each.names ? [role, 'other'] : [role]) {
        const outcome = await outcomeOf(role, door, each, whose)
        const wanted = reach === 'none' ? 'forbidden' : reach === 'own' && whose === 'other' ? 'hidden' : 'allowed'
        // What names nothing of anyone may well not exist.
        const seen = !each.names && outcome === 'hidden' ? 'allowed' : outcome
        expect(`${each.method} (${each.action}) of ${whose}: ${seen}`).toBe(
          `${each.method} (${each.action}) of ${whose}: ${wanted}`,
        )
      }
    }
  })
})

test('docs/guide/access.md has the table', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/guide/access.md'), 'utf8')
  expect(page.includes(tableOfActions()), `put this into the guide:\n${tableOfActions()}`).toBe(true)
})

function tableOfActions(): string {
  const rows = Object.entries(actions).map(([action, { scope }]) => {
    const methods = new Set(allCases.flatMap((each) => (each.action === action ? each.method : [])))
    const reaches = userRoles.map((role) => reachOf({ kind: 'user', id: 'x', role }, action as Action))
    const cells = reaches.map((reach) => (reach === 'none' ? '–' : reach))
    return `| ${action} | ${cells.join(' | ')} | ${scope} | ${[...methods].map((name) => `\`${name}\``).join(' ')} |`
  })
  return ['| action | public | operator | admin | scope | methods of App |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  )
}
