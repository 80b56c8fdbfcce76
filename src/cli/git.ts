import { trustFiles, type Untrusted, untrustedIn } from '../app-untrusted.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import type { Here, Register } from './cli.ts'
import { askLine, canAsk } from './prompt.ts'
import { paint, printable } from './screen.ts'

export const registerGit: Register = (program, run) => {
  const git = program
    .command('git')
    .helpGroup('DECIDE')
    .description('hooks and settings that commands left behind, moved aside until you trust them')
    .action(
      run(async (here) => {
        const untrusted = await untrustedIn({ folder: here.folder, path: '.' })
        const text = untrusted.map((each) => `${page(here, each)}\n${trustCommand(each)}`).join('\n\n')
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
  if (!canAsk() || here.json) throw new Misuse('say what you have seen', trustCommand(found), 'missing_argument')
  here.tell(page(here, found))
  const typed = await askLine('git will run this with your rights. Put it back? y/N ')
  if (!/^y(es)?$/i.test(typed.trim())) throw new HeddleError('cancelled', 'nothing was changed', 'heddle git shows it')
  return found.hash
}

function trustCommand({ directory, hash }: Untrusted): string {
  return `heddle git trust ${printable(directory)} --hash ${hash.slice(0, 12)}`
}

/** Whole: what is not shown is not trusted. */
function page({ screen }: Here, { files }: Untrusted): string {
  return files
    .flatMap(({ path, isExecutable, content }) => [
      paint(screen, 'bold', `${printable(path)}${isExecutable ? ' (executable)' : ''}`),
      ...content
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `  │ ${printable(line)}`),
    ])
    .join('\n')
}
