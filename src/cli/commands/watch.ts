import type { App } from '../../api/app.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { isTerminal } from '../../domain/run.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { isSameTarget, liveRuns, runView, type WatchTarget } from '../live/live-runs.ts'
import { SessionWatcher, type WatchScope } from '../live/watch-session.ts'

export const registerWatch: Register = (program, run) => {
  program
    .command('watch [ref]')
    .helpGroup('SEE')
    .description('follow a run or a session as it works; typing steers it')
    .addHelpText(
      'after',
      [
        '\nWithout a reference: this folder’s main session, or the one that is busy.',
        'Examples: heddle watch run:4c1e07    heddle watch session:main',
      ].join('\n'),
    )
    .action(run((here, [reference]) => watch(here, reference)))
}

async function watch(here: CommandContext, reference: string | undefined): Promise<CommandResult> {
  const client = await here.client()
  // Read before the current state, so that no event is missed in between.
  const cursor = await client.cursor()
  const scope = await findScope(here, client, reference)
  const watcher = new SessionWatcher(here, client, scope)
  const last = await watcher.follow(cursor)
  const view = last === undefined ? undefined : await watcher.ask((now) => now.run(last))
  const code = view && isTerminal(view.state) ? exitCodeOf({ status: view.state }) : 130
  return {
    json: view ?? (await watcher.ask((now) => now.show(scope.folder, `session:${scope.session}`))),
    text: '',
    code: scope.untilEnd ? code : 0,
  }
}

/** Finds the run or session to watch. Without a reference: this folder's main session, else the busiest one. */
async function findScope(here: CommandContext, app: App, reference: string | undefined): Promise<WatchScope> {
  const shown = reference === undefined ? undefined : await app.show(here.folder, reference)
  if (shown && shown.kind !== 'run' && shown.kind !== 'session')
    throw new UsageError(`${reference} is a ${shown.kind}`, 'watch a run or a session: heddle ps, heddle sessions')
  const live = await liveRuns(app)
  if (shown?.kind === 'run') {
    const place = { session: shown.session ?? '', folder: shown.folder ?? here.folder }
    const children = live.filter(({ line }) => line.parentRunId === shown.id)
    return { ...place, run: shown, children: children.map(({ line }) => line.id), untilEnd: true }
  }
  const wanted = { session: shown?.label ?? 'main', folder: shown?.folder ?? here.folder }
  const busy =
    live.findLast(({ root }) => isSameTarget(root, wanted)) ??
    (shown ? undefined : (live.findLast(({ root }) => root.folder === here.folder) ?? live.at(-1)))
  if (!busy && !shown) await assertSession(app, wanted)
  const place = busy?.root ?? wanted
  const inside = live.filter(({ root }) => isSameTarget(root, place)).map(({ line }) => line)
  const own = inside.find(({ session }) => session === place.session)
  return {
    ...place,
    run: own && (await runView(app, own.id)),
    children: inside.filter((line) => line !== own).map(({ id }) => id),
    untilEnd: false,
  }
}

async function assertSession(app: App, { session, folder }: WatchTarget): Promise<void> {
  if ((await app.sessions({ folder, label: session })).rows.length === 0)
    throw new HeddleError(
      'nothing_to_watch',
      'nothing is running, and this folder has no session yet',
      'heddle ask "…"',
    )
}
