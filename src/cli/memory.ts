import { Misuse } from '../domain/errors.ts'
import type { MemoryView } from '../domain/memory-views.ts'
import { nearest } from '../domain/nearest.ts'
import { parseReference } from '../domain/reference.ts'
import type { Answer, Here, Register } from './cli.ts'
import { foundTable, memoryPage, memoryTable } from './memory-page.ts'
import { narrativeList } from './narrative-page.ts'
import { printable } from './screen.ts'

const usualList = 50
const usualFound = 10

export const registerMemory: Register = (program, run) => {
  const memory = program
    .command('memory')
    .helpGroup('SET UP')
    .description('what is known and where it came from: look, add, correct, forget')
    .addHelpText(
      'after',
      '\nExamples: heddle memory add "the port is 8443" --tag net    heddle memory search "which port?"',
    )

  const subcommands = () => memory.commands.map((each) => each.name())

  memory
    .command('list [memory...]', { isDefault: true })
    .alias('ls')
    .description('all that counts, newest first')
    .option('--limit <count>', 'so many at most', String(usualList))
    .action(
      run(async (here, words, options) => {
        const [name, ...more] = words
        if (name === undefined) return list(here, countFrom(options['limit']))
        if (more.length > 0) throw noMemory(words, subcommands())
        return show(here, memoryNumber(name, subcommands()))
      }),
    )

  memory
    .command('search <question>')
    .description('what has words in common with a question, best first: memories, and files of the home')
    .option('--limit <count>', 'so many of each at most', String(usualFound))
    .addHelpText('after', '\nExample: heddle memory search "which port does staging use?" --limit 3')
    .action(run((here, [question = ''], options) => search(here, question, countFrom(options['limit']))))

  memory
    .command('show <memory>')
    .description('all of one: where it came from, what it replaced, who was shown it')
    .action(run((here, [name = '']) => show(here, memoryNumber(name))))

  memory
    .command('narratives')
    .description('where the work in this folder stands, newest first')
    .option('--all', 'of every folder')
    .option('--limit <count>', 'so many at most', String(usualFound))
    .addHelpText('after', '\nExample: heddle memory narratives --limit 3    heddle show narrative:3')
    .action(
      run(async (here, _, options) => {
        const limit = countFrom(options['limit'])
        const all = options['all'] === true
        const query = { limit: limit + 1, ...(!all && { folder: here.folder }) }
        const found = await (await here.app()).narratives(query)
        const text = narrativeList(here.screen, found, { limit, all, now: here.clock.now() })
        return { json: { narratives: found.slice(0, limit) }, text }
      }),
    )

  const withWords = (command: typeof memory) =>
    command
      .option('--tag <tag>', 'what it belongs to; may be given several times', collect)
      .option('--keyword <word>', 'another word to find it by; may be given several times', collect)

  withWords(memory.command('add [text]'))
    .description('keep a statement; - or no text reads standard input')
    .addHelpText('after', '\nExample: heddle memory add "releases are cut on Tuesdays" --tag release')
    .action(
      run(async (here, [text], options) =>
        (await import('./memory-keep.ts')).addMemory(here, text, wordsFrom(options)),
      ),
    )

  withWords(memory.command('edit <memory> [text]'))
    .description('say it anew; without text it opens in $EDITOR. Tags and keywords replace the old ones, "" is none')
    .addHelpText('after', '\nExample: heddle memory edit 12 "the port is 9090"')
    .action(
      run(async (here, [name = '', text], options) => {
        const { editMemory } = await import('./memory-keep.ts')
        return editMemory(here, memoryNumber(name), text, wordsFrom(options))
      }),
    )

  memory
    .command('forget <memory>')
    .description('wipe it, and say what rested on it; what it had replaced stays readable')
    .option('-y, --yes', 'without asking')
    .option('--older', 'those that it had replaced, too')
    .addHelpText('after', '\nExample: heddle memory forget 12')
    .action(
      run(async (here, [name = ''], options) => {
        const { forgetMemory } = await import('./memory-keep.ts')
        const older = options['older'] === true
        return forgetMemory(here, memoryNumber(name), { yes: options['yes'] === true, older })
      }),
    )

  memory
    .command('export [file]')
    .description('all that counts as markdown, for people and for import; without a file to stdout')
    .option('--all', 'those in the archive, too')
    .addHelpText('after', '\nExample: heddle memory export memories.md')
    .action(
      run(async (here, [file], options) => {
        const { exportMemory } = await import('./memory-transfer.ts')
        return exportMemory(here, file, options['all'] === true)
      }),
    )

  memory
    .command('import <file>')
    .description('read such a file; - reads standard input. What is here already is left alone')
    .option('--trust', 'you vouch for it: what it calls trusted is, and counts as much as it says')
    .addHelpText('after', '\nExample: heddle memory import memories.md')
    .action(
      run(async (here, [file = ''], options) => {
        const { importMemory } = await import('./memory-transfer.ts')
        return importMemory(here, file, options['trust'] === true)
      }),
    )
}

async function list(here: Here, limit: number): Promise<Answer> {
  const found = await (await here.app()).memories({ limit: limit + 1 })
  const memories = found.slice(0, limit)
  if (memories.length === 0)
    return { json: { memories }, text: 'nothing is known yet    heddle memory add "…"; agents add what they find out' }
  const more = found.length > limit ? '\nthere are more    heddle memory search "…", or --limit' : ''
  return { json: { memories }, text: memoryTable(here.screen, memories, here.clock.now()) + more }
}

async function search(here: Here, question: string, limit: number): Promise<Answer> {
  const app = await here.app()
  const { memories, wordsOnly } = await app.searchMemories(question, { limit })
  const files = await app.searchFiles(question, { limit })
  const text =
    memories.length + files.length > 0
      ? foundTable(here.screen, memories, files)
      : 'nothing that is known has a word of this    heddle memory lists all'
  return {
    json: { memories, files, ...(wordsOnly !== undefined && { wordsOnly }) },
    text: wordsOnly === undefined ? text : `${text}\nby words alone: ${printable(wordsOnly)}`,
  }
}

async function show(here: Here, id: number): Promise<Answer> {
  const shown = (await (await here.app()).show(here.folder, `memory:${id}`)) as MemoryView
  return { json: shown, text: memoryPage(here.screen, shown) }
}

/** The number of a memory as a person wrote it: `memory:12`, or 12. `instead` are words that may have been meant. */
export function memoryNumber(name: string, instead: readonly string[] = []): number {
  const { kind, id } = parseReference(name)
  if ((kind === null || kind === 'memory') && /^\d{1,15}$/.test(id)) return Number(id)
  throw noMemory([name], instead)
}

function noMemory(words: readonly string[], instead: readonly string[]): Misuse {
  const close = nearest(words[0] ?? '', instead)
  return new Misuse(
    `"${printable(words.join(' '))}" is no memory`,
    close ? `did you mean heddle memory ${close}?` : 'write it as memory:12; heddle memory search "…" finds one',
    'bad_reference',
  )
}

function collect(word: string, before: string[] = []): string[] {
  return [...before, word]
}

/** What an empty word leaves is none at all. */
function wordsFrom(options: Record<string, unknown>): { tags?: string[]; keywords?: string[] } {
  return {
    ...(options['tag'] !== undefined && { tags: cleaned(options['tag'] as string[], 'tag') }),
    ...(options['keyword'] !== undefined && { keywords: cleaned(options['keyword'] as string[], 'keyword') }),
  }
}

function cleaned(words: string[], what: string): string[] {
  const kept = [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))]
  if (kept.length > 50 || kept.some((word) => word.length > 100))
    throw new Misuse(`a ${what} has at most 100 characters, and a memory at most 50`, `leave out what nobody looks for`)
  return kept
}

function countFrom(value: unknown): number {
  const count = Number(value)
  if (!Number.isInteger(count) || count < 1 || count > 100_000)
    throw new Misuse(`"${printable(String(value))}" is no number of memories`, 'use --limit with 1 to 100000')
  return count
}
