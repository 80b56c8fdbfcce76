import type { App } from '../domain/app.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { isTerminal } from '../domain/run.ts'
import type { Answer, Here, Register } from './cli.ts'
import { isAt, liveRuns, type Place, runView } from './live-runs.ts'
import { exitCodeOf } from './waiting.ts'
import { type Watched, Watching } from './watching.ts'

export const registerWatch: Register = (program, run) => {
  program
    .command('watch [ref]')
    .helpGroup('SEE')
    .description('follow a run or a session as it works; typing steers it')
    .addHelpText(
      'after',
      [
        '\nWithout a reference: this folder’s main session, or the one that is at work.',
        'Examples: heddle watch run:4c1e07    heddle watch session:main',
      ].join('\n'),
    )
    .action(run((here, [reference]) => watch(here, reference)))
}

async function watch(here: Here, reference: string | undefined): Promise<Answer> {
  const app = await here.app()
  const door = await here.door()
  // Before the look at what there is, so that nothing falls between the two.
  const cursor = await door.cursor()
  const watched = await findWatched(here, app, reference)
  const watching = new Watching(here, app, watched)
  const last = await watching.follow(door, cursor)
  const view = last === undefined ? undefined : await runView(app, last)
  const code = view && isTerminal(view.state) ? exitCodeOf({ status: view.state }) : 130
  return {
    json: view ?? (await app.show(watched.folder, `session:${watched.session}`)),
    text: '',
    code: watched.untilEnd ? code : 0,
  }
}

/** A reference names a run or a session; without one it is where something happens, this folder's main session first. */
async function findWatched(here: Here, app: App, reference: string | undefined): Promise<Watched> {
  const shown = reference === undefined ? undefined : await app.show(here.folder, reference)
  if (shown && shown.kind !== 'run' && shown.kind !== 'session')
    throw new Misuse(`${reference} is a ${shown.kind}`, 'watch a run or a session: heddle ps, heddle sessions')
  const live = await liveRuns(app)
  if (shown?.kind === 'run') {
    const place = { session: shown.session ?? '', folder: shown.folder ?? here.folder }
    const children = live.filter(({ line }) => line.parentRunId === shown.id)
    return { ...place, run: shown, children: children.map(({ line }) => line.id), untilEnd: true }
  }
  const wanted = { session: shown?.label ?? 'main', folder: shown?.folder ?? here.folder }
  const busy =
    live.findLast(({ root }) => isAt(root, wanted)) ??
    (shown ? undefined : (live.findLast(({ root }) => root.folder === here.folder) ?? live.at(-1)))
  if (!busy && !shown) await mustExist(app, wanted)
  const place = busy?.root ?? wanted
  const inside = live.filter(({ root }) => isAt(root, place)).map(({ line }) => line)
  const own = inside.find(({ session }) => session === place.session)
  return {
    ...place,
    run: own && (await runView(app, own.id)),
    children: inside.filter((line) => line !== own).map(({ id }) => id),
    untilEnd: false,
  }
}

async function mustExist(app: App, { session, folder }: Place): Promise<void> {
  const sessions = await app.sessions({ folder })
  if (!sessions.some(({ label }) => label === session))
    throw new HeddleError('nothing_to_watch', 'nothing runs, and this folder has no session yet', 'heddle ask "…"')
}
