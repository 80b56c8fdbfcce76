import { assertShown, trustFiles, type Untrusted, untrustedIn } from '../app-untrusted.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { shownPath } from '../domain/visible.ts'
import type { Here, Register } from './cli.ts'
import { ForeignText } from './foreign-text.ts'
import { askLine, canAsk } from './prompt.ts'
import { lines } from './question-page.ts'
import { paint, printable, type Screen, wrapped } from './screen.ts'

export const registerGit: Register = (program, run) => {
  const git = program
    .command('git')
    .helpGroup('DECIDE')
    .description('hooks and settings that commands left behind, moved aside until you trust them')
    .action(
      run(async (here) => {
        const untrusted = await untrustedIn({ folder: here.folder, path: '.' })
        const text = untrusted
          .map((each) => `${new UntrustedPages(here.screen, each).next()}\n${trustCommand(each)}`)
          .join('\n\n')
        return { json: { untrusted }, text: text || 'nothing was moved aside in this folder' }
      }),
    )
  git
    .command('trust <directory>')
    .description('put back what was moved aside in a directory, such as sub/.git')
    .option('--hash <hash>', 'what you saw, as heddle git tells it: needed where nobody can be asked')
    .action(
      run(async (here, [given = ''], options) => {
        const directory = given.replace(/\/+$/, '') || '.'
        const hash = options['hash'] === undefined ? await askedFor(here, directory) : String(options['hash'])
        const trusted = await trustFiles({ folder: here.folder, path: '.' }, directory, hash)
        return { json: { ok: true, trusted }, text: trusted.map((path) => `put back  ${printable(path)}`).join('\n') }
      }),
    )
}

/** The hash of what the person has seen, all of it, and said yes to. */
async function askedFor(here: Here, directory: string): Promise<string> {
  const found = (await untrustedIn({ folder: here.folder, path: '.' })).find((each) => each.directory === directory)
  if (!found)
    throw new Misuse(`nothing was moved aside in ${printable(directory)}`, 'heddle git lists what was', 'not_found')
  if (!canAsk(here) || here.json) throw new Misuse('say what you have seen', trustCommand(found), 'missing_argument')
  assertShown(found)
  const pages = new UntrustedPages(here.screen, found)
  const rows = here.screen.rows - 3
  here.tell(pages.next(rows))
  while (pages.linesLeft > 0) {
    const typed = await askLine(here, `${lines(pages.linesLeft)} you have not seen: v next page, v all, n no> `)
    const key = typed.trim().toLowerCase().replace(/\s+/, ' ')
    if (key === 'v' || key === 'v all') here.tell(pages.next(key === 'v' ? rows : undefined))
    else if (/^y(es)?$/.test(key)) here.tell('not yet: you have not seen all of it. v shows more; n says no')
    else throw unchanged()
  }
  const typed = await askLine(here, 'git will run this with your rights. Put it back? y/N ')
  if (!/^y(es)?$/i.test(typed.trim())) throw unchanged()
  return found.hash
}

function unchanged(): HeddleError {
  return new HeddleError('cancelled', 'nothing was changed', 'heddle git shows it')
}

function trustCommand({ directory, hash }: Untrusted): string {
  return `heddle git trust ${printable(directory)} --hash ${hash.slice(0, 12)}`
}

/** The files of a directory, page by page, each with its text behind a gutter: what is not shown is not trusted. */
class UntrustedPages {
  readonly #parts: { heading: string[]; text: ForeignText }[]

  constructor(screen: Screen, { files }: Untrusted) {
    this.#parts = files.map(({ path, isExecutable, content }) => ({
      heading: wrapped(
        paint(screen, 'bold', `${shownPath(path)}${isExecutable ? ' (executable)' : ''}`),
        screen.columns,
      ),
      text: new ForeignText(screen, content),
    }))
  }

  get linesLeft(): number {
    return this.#parts.reduce((sum, { heading, text }) => sum + heading.length + text.linesLeft, 0)
  }

  next(most = Number.POSITIVE_INFINITY): string {
    const rows: string[] = []
    for (const { heading, text } of this.#parts) {
      rows.push(...heading.splice(0, most - rows.length))
      rows.push(...text.rows(most - rows.length))
    }
    return rows.join('\n')
  }
}
