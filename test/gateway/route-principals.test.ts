import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../src/api/app.ts'
import type { Heddle } from '../../src/api/heddle.ts'
import { owner, type Principal } from '../../src/domain/access/principal.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import { daemonClient } from '../../src/gateway/client.ts'
import { type RoutedMethod, routeTable } from '../../src/gateway/routes/table.ts'
import { type Server, serve } from '../../src/gateway/server.ts'
import { systemClock } from '../../src/system.ts'
import { folder } from './gateway.ts'

const plainDraft = { query: [{ content: 'q' }], response: { content: 'a' } }

async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

async function* each(lines: readonly string[]): AsyncIterable<string> {
  yield* lines
}

describe('each request gets the App of its own principal, and no other', () => {
  const mia: Principal = { kind: 'user', id: 'mia', role: 'public' }
  const asked: { principal: Principal; method: string }[] = []
  /** Every method of an App notes for whom it was called, and answers with nothing. */
  const noting = (principal: Principal): App =>
    new Proxy({} as App, {
      get: (_, method: string) => () => {
        asked.push({ principal, method })
        return method.startsWith('export') ? each([]) : Promise.resolve([])
      },
    })
  const heddle = {
    as: noting,
    async identify(token: string | undefined) {
      if (token === undefined) return owner
      if (token === 'mia-token') return mia
      throw new HeddleError('unknown_token', 'no user has this token', 'ask the owner for one')
    },
    listen: () => () => undefined,
  } as unknown as Heddle

  const named = [folder, 'main', 'main']
  /** Arguments that each method takes. */
  const args: Record<RoutedMethod, unknown[]> = {
    renameSession: named,
    setSystemPrompt: [folder, 'main', 'Be brief.'],
    personas: [],
    commands: [],
    command: [folder, { session: 'main', line: '/status' }],
    models: [],
    whoami: [],
    doctor: [folder],
    settings: [],
    agent: named,
    skills: named,
    setting: ['agents.maxConcurrent'],
    tips: [],
    context: named,
    show: named,
    diff: named,
    exportTurns: named,
    agents: named,
    checkAgent: named,
    approvals: [],
    grants: [],
    cursor: [],
    prune: [],
    users: [],
    addUser: ['mia', { folder }],
    setUser: ['mia', {}],
    removeUser: ['mia'],
    tokens: [],
    createToken: ['mia', {}],
    createSignInLink: [],
    revokeToken: [1],
    audit: [{}],
    metrics: [],
    submit: [folder, { session: 'main', content: 'x' }],
    answer: [folder, 'abcdef', AbortSignal.abort()],
    append: [folder, { session: 'main', draft: plainDraft }],
    fork: [folder, { turn: 'main' }],
    log: [folder, {}],
    importTurns: [each([])],
    decide: ['approval:1', { answer: 'no' }],
    changeTask: ['task:1', { action: 'skip' }],
    archiveSession: [folder, 'main', true],
    routeSmart: [folder, 'x'],
    why: [folder, 'main'],
    usage: ['model'],
    usageByDay: [30],
    runSteps: ['abcdef'],
    turnWindow: [folder, {}],
    turnTree: [],
    status: [folder, 0],
    events: [{}],
    narratives: [{ limit: 1 }],
    memories: [{ limit: 1 }],
    remember: [{ content: 'x' }],
    changeMemory: [1, {}],
    trustMemory: [1],
    forgetMemory: [1],
    revokeGrant: [1],
    countSessions: [{}],
    exportMemories: [],
    importMemories: ['', { name: 'x', trust: false }],
    searchMemories: ['x', { limit: 1 }],
    searchFiles: ['x', { limit: 1 }],
    search: [folder, { query: 'x' }],
    backup: ['/file'],
    setPersona: [{ id: 'ada', identity: { name: 'Ada', soul: '' }, permissions: { tools: {} } }],
    sessions: [],
    runs: [],
    plans: [],
    tasks: [],
    results: [],
    subagents: [],
    subagent: ['abcdef'],
    undo: ['abcdef'],
    cancel: ['abcdef', 'x'],
    retry: ['abcdef'],
    jobs: [],
    jobWeek: [],
    previewJob: [{ every: '1h' }],
    addJob: [folder, { every: '1h', message: 'x' }],
    editJob: [1, { every: '1h' }],
    enableJob: [1, true],
    removeJob: [1],
    runJob: [1],
    fires: [{}],
    emitEvent: ['done'],
    resumeJobs: [],
    outbox: [{}],
    retryMessage: [1],
    profiles: [],
    profile: ['profile:x'],
    setProfile: ['profile:x', { model: {} }],
    deleteProfile: ['profile:x'],
    profileHistory: ['profile:x'],
    agentRegistry: [],
    setAgentRegistry: [{ version: 1, agents: [] }, 0],
    registerAgent: [{ agentId: '@x', profileId: 'profile:x', description: 'x' }],
    unregisterAgent: ['@x'],
    registryHistory: [],
    pins: [folder],
    setPin: [folder, { scope: 'user', agentId: '@x' }],
    removePin: [folder, { scope: 'user' }],
  }

  let server: Server
  let runFolder: string
  beforeAll(async () => {
    runFolder = mkdtempSync(join(tmpdir(), 'heddle-gw-table-'))
    server = await serve(heddleWithEvents(heddle), {
      runFolder,
      health: { pid: 1, version: '0', since: '2026-01-01T00:00:00.000Z' },
      clock: systemClock,
      onError: (error) => {
        throw error
      },
    })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(runFolder, { recursive: true })
  })

  test.each(Object.keys(routeTable) as RoutedMethod[])('%s', async (method) => {
    const call = async (token?: string) => {
      asked.length = 0
      const client = daemonClient({ socket: server.path, ...(token !== undefined && { token }) }, systemClock)
      const answer = (client[method] as (...args: unknown[]) => unknown)(...args[method])
      await (method.startsWith('export') ? collected(answer as AsyncIterable<string>) : answer)
      return new Set(asked.map(({ principal }) => principal))
    }
    expect(await call()).toEqual(new Set([owner]))
    expect(await call('mia-token')).toEqual(new Set([mia]))
    await expect(call('stolen')).rejects.toMatchObject({ code: 'unknown_token' })
    expect(asked).toEqual([])
  })
})

/** The hub of the server follows events on its own; it is not a request. */
function heddleWithEvents(heddle: Heddle): Heddle {
  let isFirst = true
  return {
    ...heddle,
    as(principal) {
      if (!isFirst) return heddle.as(principal)
      isFirst = false
      const silent = async function* ({ signal }: { signal: AbortSignal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      }
      return { cursor: async () => null, follow: silent } as unknown as App
    },
  }
}
