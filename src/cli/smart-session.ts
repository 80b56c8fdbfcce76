import { HeddleError, Misuse } from '../domain/errors.ts'
import type { SessionMatch, SmartRoute } from '../domain/smart-route.ts'
import type { Here } from './cli.ts'
import { askLine, canAsk } from './prompt.ts'
import { ago, paint, printable, table } from './screen.ts'

const usualSession = 'main'
const mostWords = 6
/** What is longer is not repeated in a command to copy. */
const longestShown = 80

/** Where a question goes. */
export interface Place {
  here: Here
  session: string
  /** What chose it, where words did. */
  routed?: SessionMatch
}

/** Takes the session that was named; with `--smart` the one that the words of the question belong to. */
export async function placeFor(here: Here, content: string, options: Record<string, unknown>): Promise<Place> {
  const all = options['smartAll'] === true
  const named = options['session']
  if (options['smart'] !== true && !all) return { here, session: String(named ?? usualSession) }
  if (named !== undefined || options['from'] !== undefined)
    throw new Misuse(
      `${named === undefined ? '--from' : '-s'} says where to ask, and --smart looks for it`,
      'leave one of them out',
    )
  const route = await (await here.app()).routeSmart(here.folder, content, { all })
  const routed =
    route.chosen ?? (canAsk(here) && !here.json ? await chosenBy(here, route) : refuse(here, content, route))
  if (!routed) return { here, session: usualSession }
  here.tell(paint(here.screen, 'dim', `→ session ${nameOf(here, routed)}, ${sharing(routed)}`))
  return {
    here: routed.folder === here.folder ? here : { ...here, folder: routed.folder },
    session: routed.session,
    routed,
  }
}

/** Asks the person; undefined for the usual session. */
async function chosenBy(here: Here, { others }: SmartRoute): Promise<SessionMatch | undefined> {
  const now = here.clock.now()
  const most = others.length + (isUsualAmong(here, others) ? 0 : 1)
  const rows = others.map((match, at) => [
    `  ${at + 1}`,
    nameOf(here, match),
    ago(match.updatedAt, now),
    sharing(match),
  ])
  if (most > others.length) rows.push([`  ${most}`, usualSession, '', 'for whatever belongs nowhere else'])
  here.tell(`${unsure(others)}; it can go to\n${table(here.screen, rows, 3).trimEnd()}`)
  const typed = (await askLine(here, 'number, or Enter to stop> ')).trim()
  if (typed === '') throw new HeddleError('cancelled', 'stopped: nothing was asked', 'name a session with -s LABEL')
  const number = Number(typed)
  if (!(Number.isInteger(number) && number >= 1 && number <= most))
    throw new Misuse(`"${printable(typed)}" is none of 1 to ${most}`, 'run the command again')
  return others[number - 1]
}

function refuse(here: Here, content: string, { others }: SmartRoute): never {
  const text = content.length <= longestShown && !content.includes('\n') ? shellWord(content) : '"…"'
  const commands = others.map((match) => {
    const where = match.folder === here.folder ? '' : `cd ${shellWord(match.folder)} && `
    return `${where}heddle ask -s ${match.session} ${text}    # ${sharing(match)}`
  })
  if (!isUsualAmong(here, others)) commands.push(`heddle ask -s ${usualSession} ${text}    # or any new label`)
  throw new Misuse(unsure(others), ['say where:', ...commands].join('\n    '), 'no_sure_session')
}

function isUsualAmong(here: Here, others: SessionMatch[]): boolean {
  return others.some(({ session, folder }) => session === usualSession && folder === here.folder)
}

function unsure(others: SessionMatch[]): string {
  return others.length === 0 ? 'no session shares a word with this' : 'no session fits this clearly'
}

function nameOf(here: Here, { session, folder }: SessionMatch): string {
  return folder === here.folder ? printable(session) : `${printable(session)} of ${printable(folder)}`
}

function sharing({ words }: SessionMatch): string {
  const more = words.length > mostWords ? ', …' : ''
  return `shares: ${printable(words.slice(0, mostWords).join(', '))}${more}`
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
