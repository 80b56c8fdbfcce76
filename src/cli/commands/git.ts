import { assertShown, trustFiles, type UntrustedDirectory, untrustedIn } from '../../app/untrusted-files.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { quotePath } from '../../domain/text/visible.ts'
import { isGitSample } from '../../home/git-samples.ts'
import { ForeignText } from '../approvals/foreign-text.ts'
import { countLines } from '../approvals/question-page.ts'
import type { CommandContext, Register } from '../command.ts'
import { askLine, canAsk } from '../terminal/prompt.ts'
import { paint, printable, type Screen, wrapText } from '../terminal/screen.ts'

export const registerGit: Register = (program, run) => {
  const git = program
    .command('git')
    .helpGroup('DECIDE')
    .description('git hooks and settings written by commands; disabled until you trust them')
    .action(
      run(async (here) => {
        const untrusted = await untrustedIn({ folder: here.folder, path: '.' }, isGitSample)
        const text = untrusted
          .map((each) =>
            [new UntrustedPages(here.screen, each).next(), ...samplesLine(each), trustCommand(each)].join('\n'),
          )
          .join('\n\n')
        return { json: { untrusted }, text: text || 'nothing is disabled in this folder' }
      }),
    )
  git
    .command('trust <directory>')
    .description('restore the disabled files of a directory, such as sub/.git')
    .option('--hash <hash>', 'hash of what you saw, from heddle git; required without a terminal')
    .action(
      run(async (here, [given = ''], options) => {
        const directory = given.replace(/\/+$/, '') || '.'
        const hash = options['hash'] === undefined ? await confirmedHash(here, directory) : String(options['hash'])
        const trusted = await trustFiles({ folder: here.folder, path: '.' }, directory, hash)
        return { json: { ok: true, trusted }, text: trusted.map((path) => `restored  ${printable(path)}`).join('\n') }
      }),
    )
}

/** Hash of the files after the user has seen all of them and agreed. */
async function confirmedHash(here: CommandContext, directory: string): Promise<string> {
  const found = (await untrustedIn({ folder: here.folder, path: '.' }, isGitSample)).find(
    (each) => each.directory === directory,
  )
  if (!found)
    throw new UsageError(`nothing is disabled in ${printable(directory)}`, 'heddle git lists what is', 'not_found')
  if (!canAsk(here) || here.json)
    throw new UsageError('without a terminal, trust needs --hash', trustCommand(found), 'missing_argument')
  assertShown(found)
  const pages = new UntrustedPages(here.screen, found)
  const rows = here.screen.rows - 3
  here.tell(pages.next(rows))
  while (pages.linesLeft > 0) {
    const typed = await askLine(here, `${countLines(pages.linesLeft)} you have not seen: v next page, v all, n no> `)
    const key = typed.trim().toLowerCase().replace(/\s+/, ' ')
    if (key === 'v' || key === 'v all') here.tell(pages.next(key === 'v' ? rows : undefined))
    else if (/^y(es)?$/.test(key)) here.tell('not yet: you have not seen all of it. v shows more; n says no')
    else throw unchanged()
  }
  for (const line of samplesLine(found)) here.tell(line)
  const typed = await askLine(here, 'git will run this with your permissions. Put it back? y/N ')
  if (!/^y(es)?$/i.test(typed.trim())) throw unchanged()
  return found.hash
}

function samplesLine({ samples }: UntrustedDirectory): string[] {
  return samples === 0 ? [] : [`not shown: ${countNoun(samples, 'unchanged sample hook')} of git`]
}

function unchanged(): HeddleError {
  return new HeddleError('cancelled', 'nothing was changed', 'heddle git shows it')
}

function trustCommand({ directory, hash }: UntrustedDirectory): string {
  return `heddle git trust ${printable(directory)} --hash ${hash.slice(0, 12)}`
}

/** Files of a directory, page by page, each with its text behind a gutter. What was not shown is not trusted. */
class UntrustedPages {
  readonly #parts: { heading: string[]; text: ForeignText }[]

  constructor(screen: Screen, { files }: UntrustedDirectory) {
    this.#parts = files.map(({ path, isExecutable, content }) => ({
      heading: wrapText(
        paint(screen, 'bold', `${quotePath(path)}${isExecutable ? ' (executable)' : ''}`),
        screen.columns,
      ),
      text: new ForeignText(screen, content),
    }))
  }

  get linesLeft(): number {
    return this.#parts.reduce((sum, { heading, text }) => sum + heading.length + text.linesLeft, 0)
  }

  next(max = Number.POSITIVE_INFINITY): string {
    const rows: string[] = []
    for (const { heading, text } of this.#parts) {
      rows.push(...heading.splice(0, max - rows.length))
      rows.push(...text.rows(max - rows.length))
    }
    return rows.join('\n')
  }
}
