import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { SessionMatch, SmartRoute } from '../../domain/smart-route.ts'
import type { CommandContext } from '../command.ts'
import { askLine, canAsk } from '../terminal/prompt.ts'
import { formatAge, paint, printable, table } from '../terminal/screen.ts'

const defaultSession = 'main'
const maxWords = 6
/** Longer questions are not repeated in suggested commands. */
const maxShownLength = 80

/** The session that a question goes to. */
interface QuestionTarget {
  here: CommandContext
  session: string
  /** The match, if `--smart` chose it. */
  routed?: SessionMatch
}

/** Chooses the session: the named one, or with `--smart` the one that fits the question. */
export async function chooseSession(
  here: CommandContext,
  content: string,
  options: Record<string, unknown>,
): Promise<QuestionTarget> {
  const all = options['smartAll'] === true
  const label = options['session']
  if (options['smart'] !== true && !all) return { here, session: String(label ?? usualSession(options)) }
  if (label !== undefined || options['from'] !== undefined || options['persona'] !== undefined)
    throw new UsageError(
      `${label !== undefined ? '-s' : options['from'] !== undefined ? '--from' : '--persona'} names the session, and --smart looks for one`,
      'leave one of them out',
    )
  const route = await (await here.client()).routeSmart(here.folder, content, { all })
  const routed =
    route.chosen ?? (canAsk(here) && !here.json ? await askWhich(here, route) : throwUnsure(here, content, route))
  if (!routed) return { here, session: defaultSession }
  here.tell(paint(here.screen, 'dim', `→ session ${nameOf(here, routed)}, ${sharing(routed)}`))
  return {
    here: routed.folder === here.folder ? here : { ...here, folder: routed.folder },
    session: routed.session,
    routed,
  }
}

/** The session of a question that names none: its persona's main session; a fork needs a label of its own. */
function usualSession({ persona, from }: Record<string, unknown>): string {
  return persona === undefined || from !== undefined ? defaultSession : `persona:${persona}`
}

/** Asks the user; undefined for the default session. */
async function askWhich(here: CommandContext, { others }: SmartRoute): Promise<SessionMatch | undefined> {
  const now = here.clock.now()
  const last = others.length + (hasDefault(here, others) ? 0 : 1)
  const rows = others.map((match, at) => [
    `  ${at + 1}`,
    nameOf(here, match),
    formatAge(match.updatedAt, now),
    sharing(match),
  ])
  if (last > others.length) rows.push([`  ${last}`, defaultSession, '', 'for anything else'])
  here.tell(`${unsure(others)}; choose where to ask:\n${table(here.screen, rows, 3).trimEnd()}`)
  const typed = (await askLine(here, 'number, or Enter to stop> ')).trim()
  if (typed === '') throw new HeddleError('cancelled', 'stopped: nothing was asked', 'name a session with -s LABEL')
  const number = Number(typed)
  if (!(Number.isInteger(number) && number >= 1 && number <= last))
    throw new UsageError(`"${printable(typed)}" is not one of 1 to ${last}`, 'run the command again')
  return others[number - 1]
}

function throwUnsure(here: CommandContext, content: string, { others }: SmartRoute): never {
  const text = content.length <= maxShownLength && !content.includes('\n') ? shellWord(content) : '"…"'
  const commands = others.map((match) => {
    const where = match.folder === here.folder ? '' : `cd ${shellWord(match.folder)} && `
    return `${where}heddle ask -s ${match.session} ${text}    # ${sharing(match)}`
  })
  if (!hasDefault(here, others)) commands.push(`heddle ask -s ${defaultSession} ${text}    # or any new label`)
  throw new UsageError(unsure(others), ['choose one:', ...commands].join('\n    '), 'no_sure_session')
}

function hasDefault(here: CommandContext, others: SessionMatch[]): boolean {
  return others.some(({ session, folder }) => session === defaultSession && folder === here.folder)
}

function unsure(others: SessionMatch[]): string {
  return others.length === 0 ? 'no session shares a word with this' : 'no session fits this clearly'
}

function nameOf(here: CommandContext, { session, folder }: SessionMatch): string {
  return folder === here.folder ? printable(session) : `${printable(session)} of ${printable(folder)}`
}

function sharing({ words }: SessionMatch): string {
  const more = words.length > maxWords ? ', …' : ''
  return `shares: ${printable(words.slice(0, maxWords).join(', '))}${more}`
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
