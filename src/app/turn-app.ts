import type { ShowResult, TurnApp } from '../api/turns.ts'
import { actingFor, isOwner } from '../domain/access/principal.ts'
import { UsageError } from '../domain/errors.ts'
import type { ProtectedPlaces } from '../domain/tools/path-handle.ts'
import { assertMayWritePrompt, senderLabel } from '../engine/run/sender.ts'
import type { AgentIndex, Runtime } from '../engine/runtime.ts'
import { append } from '../engine/turns/append.ts'
import { fork } from '../engine/turns/fork.ts'
import { contextPath, listPath, listTips, listTree, turnLines } from '../engine/turns/history.ts'
import { headOf, routeToThread } from '../engine/turns/route.ts'
import { exportTurns, importTurns } from '../engine/turns/transfer.ts'
import { pathWindow, treeWindow } from '../engine/turns/windows.ts'
import { show } from '../engine/views/show.ts'
import { viewDiff } from '../engine/views/thread-diff.ts'
import type { Store } from '../store/store.ts'
import type { Caller } from './guard/caller.ts'
import { withoutPrivate, withoutPrivateCalls, withoutPrivateLinks } from './guard/private-views.ts'

/** Context of the turn views. */
interface TurnAppContext {
  agents: AgentIndex
  protect: ProtectedPlaces
  /** The configured budget of a request. */
  budget: { usd: number; tokens: number; steps: number }
  /** Notes that runs may work in this folder. */
  recordFolder(folder: string): void
  caller: Caller
}

export function turnApp(runtime: Runtime, context: TurnAppContext): TurnApp {
  const { agents, protect, budget, recordFolder, caller } = context
  const { store, clock, markSecrets = (value) => value } = runtime
  const thread = (folder: string, text: string) => store.read((rows) => routeToThread(rows, text, folder))
  return {
    async append(folder, { session, draft, parent, persona }) {
      recordFolder(folder)
      const trust = await store.read((rows) => senderLabel(rows, caller.principal))
      const appended = await append(runtime, {
        folder,
        trust,
        label: session,
        draft,
        principal: actingFor(caller.principal),
        ...(parent !== undefined && { parentTurnId: (await thread(folder, parent)).turnId }),
        ...(persona !== undefined && { personaId: persona }),
      })
      return { turnId: appended.turnId, session: appended.session.label, depth: appended.depth }
    },
    async fork(folder, { turn, label, persona, systemPrompt }) {
      if (systemPrompt !== undefined) await store.read((rows) => assertMayWritePrompt(rows, caller.principal))
      const { turnId } = await thread(folder, turn)
      recordFolder(folder)
      const session = await fork(runtime, {
        folder,
        turnId,
        principal: actingFor(caller.principal),
        ...(label !== undefined && { label }),
        ...(persona !== undefined && { personaId: persona }),
        ...(systemPrompt !== undefined && { systemPrompt }),
      })
      return { session: session.label, headTurnId: turnId }
    },
    log: (folder, { of = 'main', all, limit }) =>
      store.read(async (rows) =>
        all
          ? listTree(rows, caller.only('turn.read'))
          : listPath(rows, await routeToThread(rows, of, folder), {
              ...(limit && { limit }),
              ...caller.only('turn.read'),
            }),
      ),
    async turnWindow(folder, { of = 'main', session, ...page }) {
      const found = await store.read(async (rows) => {
        const end = await (session === undefined ? routeToThread(rows, of, folder) : headOf(rows, session, folder))
        return end ? pathWindow(rows, end, { ...page, ...caller.only('turn.read') }) : none
      })
      return isOwner(caller.principal) ? found : { ...found, rows: found.rows.map(withoutPrivateCalls) }
    },
    turnTree: ({ of, ...query } = {}) =>
      store.read(async (rows) => {
        const only = caller.only('turn.read')
        if (of === undefined) return treeWindow(rows, { ...query, ...only })
        if (query.folder === undefined)
          throw new UsageError('of needs a folder', 'give the folder as well', 'bad_request')
        return treeWindow(rows, { ...query, ...only, of: await routeToThread(rows, of, query.folder) })
      }),
    tips: () => store.read((rows) => listTips(rows, caller.only('turn.read'))),
    context: (folder, of) =>
      store.read(async (rows) =>
        turnLines(rows, await contextPath(rows, await routeToThread(rows, of, folder)), caller.only('turn.read')),
      ),
    async show(folder, reference) {
      const looks = { now: clock.now(), agents, protect, limits: budget, only: caller.only('turn.read') }
      const shown = await store.read((rows) => show(rows, reference, folder, looks))
      return isOwner(caller.principal) ? markKnowledge(shown, markSecrets) : withoutPrivate(shown)
    },
    async why(folder, reference, options) {
      // Other commands need not load what traces lines of files.
      const { why } = await import('../engine/why/why.ts')
      const view = await why({ store, protect, budget, markSecrets }, folder, reference, options)
      return isOwner(caller.principal) ? view : withoutPrivateLinks(view)
    },
    diff: (folder, a, b) =>
      store.read(async (rows) =>
        viewDiff(rows, await routeToThread(rows, a, folder), await routeToThread(rows, b, folder)),
      ),
    exportTurns: (folder, session) => linesOf(store, { folder, session, caller }),
    importTurns: (lines) => importTurns(runtime, lines),
  }
}

const none: Awaited<ReturnType<TurnApp['turnWindow']>> = { rows: [] }

/** Marks the values of stored secrets in what is shown of memories, notes and narratives. */
function markKnowledge(shown: ShowResult, mark: <T>(value: T) => T): ShowResult {
  if (shown.kind === 'memory' || shown.kind === 'narrative') return mark(shown)
  if (shown.kind === 'task') return { ...shown, narratives: mark(shown.narratives) }
  if (shown.kind !== 'turn') return shown
  const { remindedOf, remindedOfFiles, beganWith, thread } = shown
  // The prompt has files of the home.
  const marked = { ...thread, systemPrompt: mark(thread.systemPrompt) }
  return { ...shown, ...mark({ remindedOf, remindedOfFiles, beganWith }), thread: marked }
}

async function* linesOf(
  store: Store,
  { folder, session, caller }: { folder: string; session: string | undefined; caller: Caller },
): AsyncIterable<string> {
  const end = session === undefined ? undefined : await store.read((rows) => routeToThread(rows, session, folder))
  for await (const turn of exportTurns(store, { ...(end && { end }), ...caller.only('turn.export') }))
    yield JSON.stringify(isOwner(caller.principal) ? turn : { ...turn, prompt: null })
}
