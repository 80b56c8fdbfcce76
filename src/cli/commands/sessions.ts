import type { SessionDetails, SessionView } from '../../api/views/session.ts'
import { userSessions } from '../../commands/sessions.ts'
import { UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { mainSessionOf } from '../../domain/persona.ts'
import { parseReference } from '../../domain/reference.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { CommandContext, Register } from '../command.ts'
import { moreLine, pageOptions, readPages } from '../input/pages.ts'
import { readTextOption } from '../input/text-file.ts'
import { formatAge, paint, printable, table } from '../terminal/screen.ts'

const screenSessions = 30

export const registerSessions: Register = (program, run) => {
  const sessions = program
    .command('sessions')
    .alias('session')
    .helpGroup('REWIND')
    .description('list the sessions of this folder, most recent first')
    .option('-a, --all', 'include other folders, subagents and archived sessions')
    .option('--limit <n>', `at most n; 0 for all (default: all in JSON, ${screenSessions} on screen)`)
    .option('--after <cursor>', 'continue after this cursor, the `next` of an earlier page')
    .action(run((here, _args, options) => list(here, options)))
  sessions
    .command('list', { hidden: true })
    .alias('ls')
    .option('-a, --all')
    .option('--limit <n>')
    .option('--after <cursor>')
    .action(run((here, _args, options) => list(here, { ...sessions.opts(), ...options })))
  sessions
    .command('rename <session> <label>')
    .description('give a session another label; its turns stay where they are')
    .action(
      run(async (here, [name = '', label = '']) =>
        changed(await (await here.client()).renameSession(here.folder, name, label), 'renamed'),
      ),
    )
  sessions
    .command('prompt <session> [text]')
    .description("show or set a session's own system prompt; later turns and forks inherit it")
    .option('--file <path>', 'read it from a file')
    .option('--clear', 'remove it')
    .addHelpText('after', '\nExample: heddle sessions prompt review "Answer in three sentences at most."')
    .action(run((here, [name = '', text], options) => prompt(here, name, promptFrom(here, text, options))))
  sessions
    .command('archive <session>')
    .description('hide a session from the list; nothing is deleted')
    .action(
      run(async (here, [name = '']) =>
        changed(await (await here.client()).archiveSession(here.folder, name, true), 'archived'),
      ),
    )
  sessions
    .command('restore <session>')
    .description('put an archived session back on the list')
    .action(
      run(async (here, [name = '']) =>
        changed(await (await here.client()).archiveSession(here.folder, name, false), 'restored'),
      ),
    )

  program
    .command('fork <turn>')
    .helpGroup('REWIND')
    .description('start a new session from any turn; the original session is unchanged')
    .option('--as <label>', 'label of the new session (default: fork-…)')
    .option('--persona <id>', 'the persona of the new session')
    .option('--system-prompt <text>', 'its own system prompt, instead of the one that it inherits')
    .addHelpText('after', '\nExample: heddle fork turn:4c1e07 --as second-try')
    .action(
      run(async (here, [turn = ''], options) => {
        const client = await here.client()
        const forked = await client.fork(here.folder, {
          turn,
          ...(options['as'] !== undefined && { label: String(options['as']) }),
          ...(options['persona'] !== undefined && { persona: String(options['persona']) }),
          ...(options['systemPrompt'] !== undefined && { systemPrompt: String(options['systemPrompt']) }),
        })
        return {
          json: { ok: true, ...forked },
          text: `session ${forked.session} starts at turn:${shortId(forked.headTurnId)}    heddle log ${forked.session}`,
        }
      }),
    )
}

/** The text to set, null to remove it; undefined to show the one that is there. */
function promptFrom(
  here: CommandContext,
  text: string | undefined,
  { file, clear }: Record<string, unknown>,
): string | null | undefined {
  if ([text, file, clear].filter((each) => each !== undefined).length > 1)
    throw new UsageError('a text, --file and --clear cannot be combined', 'give one of them')
  if (clear === true) return null
  return file === undefined ? text : readTextOption(here, String(file))
}

async function prompt(here: CommandContext, name: string, text: string | null | undefined) {
  const client = await here.client()
  const session =
    text === undefined ? await findSession(here, name) : await client.setSystemPrompt(here.folder, name, text)
  const { label, ownSystemPrompt } = session
  const told = `session:${printable(label)} has ${ownSystemPrompt === null ? 'no' : 'a'} system prompt of its own`
  const next =
    text === undefined && ownSystemPrompt !== null
      ? `\n\n${printable(ownSystemPrompt, { lines: true })}`
      : `    heddle ${ownSystemPrompt === null ? `sessions prompt ${printable(label)} "…"` : `ask -s ${printable(label)} "…"`}`
  return { json: { ok: true, ...session }, text: told + next }
}

/** The session that a label or `persona:ID` names. */
async function findSession(here: CommandContext, name: string): Promise<SessionDetails> {
  const { kind, id } = parseReference(name)
  const reference = kind === 'persona' ? `session:${mainSessionOf(id)}` : kind === null ? `session:${name}` : name
  const shown = await (await here.client()).show(here.folder, reference)
  if (shown.kind === 'session') return shown
  throw new UsageError(`${printable(name)} is a ${shown.kind}`, 'give the label of a session')
}

async function list(here: CommandContext, options: Record<string, unknown>) {
  const client = await here.client()
  const all = options['all'] === true
  const scope = all ? {} : { folder: here.folder, ...userSessions }
  const page = pageOptions(options, here.json ? 0 : screenSessions, 'sessions')
  const { rows, ...more } = await readPages((part) => client.sessions({ ...scope, ...part }), {
    ...page,
    newest: 'first',
  })
  const json = { sessions: rows, ...more }
  if (rows.length === 0) return { json, text: await nothing(here, all) }
  const left = page.after === undefined ? (await client.countSessions(scope)) - rows.length : undefined
  const command = all ? 'heddle sessions --all' : 'heddle sessions'
  return { json, text: [listing(here, rows, all), ...moreLine(more, command, left)].join('\n') }
}

function listing(here: CommandContext, sessions: SessionView[], all: boolean): string {
  const rows = sessions.map((session) => [
    paint(here.screen, 'bold', printable(session.label)),
    session.headTurnId ? `turn:${shortId(session.headTurnId)}` : '–',
    countNoun(session.depth, 'turn'),
    formatAge(session.updatedAt, here.clock.now()),
    [session.persona ?? '', session.archived ? 'archived' : '', all ? printable(session.folder) : '']
      .filter(Boolean)
      .join('  '),
  ])
  return table(here.screen, rows, 0)
}

async function nothing(here: CommandContext, all: boolean): Promise<string> {
  const others = all ? 0 : await (await here.client()).countSessions()
  return [
    `no sessions in ${printable(here.folder)} yet    heddle ask "…"`,
    ...(others > 0 ? [`${others} in other folders or archived    heddle sessions --all`] : []),
  ].join('\n')
}

function changed(session: SessionView, what: string) {
  return { json: { ok: true, ...session }, text: `${what} ${session.label}    heddle sessions` }
}
