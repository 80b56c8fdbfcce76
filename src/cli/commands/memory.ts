import type { MemoryView } from '../../api/views/memory.ts'
import { UsageError } from '../../domain/errors.ts'
import { parseReference } from '../../domain/reference.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { wholeNumber } from '../input/counts.ts'
import { foundTable, memoryPage, memoryTable } from '../pages/memory-page.ts'
import { narrativeList } from '../pages/narrative-page.ts'
import { printable } from '../terminal/screen.ts'

const defaultList = 50
const defaultFound = 10

export const registerMemory: Register = (program, run) => {
  const memory = program
    .command('memory')
    .helpGroup('SET UP')
    .description('memories: list, search, add, correct, forget')
    .addHelpText(
      'after',
      '\nExamples: heddle memory add "the port is 8443" --tag net\n          heddle memory search "which port?"',
    )

  const subcommands = () => memory.commands.map((each) => each.name())

  memory
    .command('list [memory...]', { isDefault: true })
    .alias('ls')
    .description('all current memories, newest first')
    .option('--limit <count>', `at most this many (default: ${defaultList})`)
    .action(
      run(async (here, words, options) => {
        const [name, ...more] = words
        if (name === undefined) return list(here, countFrom(options['limit'] ?? defaultList))
        if (options['limit'] !== undefined)
          throw new UsageError('--limit only works for the list', 'leave one of them out')
        if (more.length > 0) throw noMemory(words, subcommands())
        return showMemory(here, memoryNumber(name, subcommands()))
      }),
    )

  memory
    .command('search <question>')
    .description('memories and files of the home that match a question, best first')
    .option('--limit <count>', 'at most this many of each', String(defaultFound))
    .addHelpText('after', '\nExample: heddle memory search "which port does staging use?" --limit 3')
    .action(run((here, [question = ''], options) => searchMemory(here, question, countFrom(options['limit']))))

  memory
    .command('show <memory>')
    .description('everything about one: where it came from, what it replaced, which runs saw it')
    .action(run((here, [name = '']) => showMemory(here, memoryNumber(name))))

  memory
    .command('narratives')
    .description('session summaries of this folder, newest first')
    .option('--all', 'of every folder')
    .option('--limit <count>', 'at most this many', String(defaultFound))
    .addHelpText('after', '\nExample: heddle memory narratives --limit 3    heddle show narrative:3')
    .action(
      run(async (here, _, options) => {
        const limit = countFrom(options['limit'])
        const all = options['all'] === true
        const query = { limit: limit + 1, ...(!all && { folder: here.folder }) }
        const found = await (await here.client()).narratives(query)
        const text = narrativeList(here.screen, found, { limit, all, now: here.clock.now() })
        return { json: { narratives: found.slice(0, limit) }, text }
      }),
    )

  const withWords = (command: typeof memory) =>
    command
      .option('--tag <tag>', 'a topic; may be repeated', collect)
      .option('--keyword <word>', 'another word to find it by; may be repeated', collect)

  withWords(memory.command('add [text]'))
    .description('save a statement; - or no text reads standard input')
    .addHelpText('after', '\nExample: heddle memory add "releases are cut on Tuesdays" --tag release')
    .action(
      run(async (here, [text], options) =>
        (await import('./memory/edit-memory.ts')).addMemory(here, text, newWordsFrom(options)),
      ),
    )

  withWords(memory.command('edit <memory> [text]'))
    .description('change it; without text it opens in $EDITOR. Tags and keywords replace the old ones, "" removes them')
    .addHelpText('after', '\nExample: heddle memory edit 12 "the port is 9090"')
    .action(
      run(async (here, [name = '', text], options) => {
        const { editMemory } = await import('./memory/edit-memory.ts')
        return editMemory(here, memoryNumber(name), text, wordsFrom(options))
      }),
    )

  memory
    .command('trust <memory>')
    .description('mark a memory as trusted, so that agents recall it like your own')
    .option('-y, --yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExample: heddle memory trust 12')
    .action(
      run(async (here, [name = ''], options) => {
        const { vouchForMemory } = await import('./memory/edit-memory.ts')
        return vouchForMemory(here, memoryNumber(name), options['yes'] === true)
      }),
    )

  memory
    .command('forget <memory>')
    .description('delete it and list what cites it; older versions stay')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--older', 'also those that it had replaced')
    .addHelpText('after', '\nExample: heddle memory forget 12')
    .action(
      run(async (here, [name = ''], options) => {
        const { forgetMemory } = await import('./memory/edit-memory.ts')
        const older = options['older'] === true
        return forgetMemory(here, memoryNumber(name), { yes: options['yes'] === true, older })
      }),
    )

  memory
    .command('export [file]')
    .description('export memories as markdown; without a file to stdout')
    .option('--all', 'also those in the archive')
    .addHelpText('after', '\nExample: heddle memory export memories.md')
    .action(
      run(async (here, [file], options) => {
        const { exportMemory } = await import('./memory/memory-transfer.ts')
        return exportMemory(here, file, options['all'] === true)
      }),
    )

  memory
    .command('import <file>')
    .description('import an exported file; - reads stdin. Existing memories are kept')
    .option('--trust', 'trust the file: keep its trust marks and scores')
    .addHelpText('after', '\nExample: heddle memory import memories.md')
    .action(
      run(async (here, [file = ''], options) => {
        const { importMemory } = await import('./memory/memory-transfer.ts')
        return importMemory(here, file, options['trust'] === true)
      }),
    )
}

async function list(here: CommandContext, limit: number): Promise<CommandResult> {
  const found = await (await here.client()).memories({ limit: limit + 1 })
  const memories = found.slice(0, limit)
  if (memories.length === 0)
    return { json: { memories }, text: 'no memories yet    heddle memory add "…"; agents add what they find out' }
  const more = found.length > limit ? '\nthere are more    heddle memory search "…", or --limit' : ''
  return { json: { memories }, text: memoryTable(here.screen, memories, here.clock.now()) + more }
}

async function searchMemory(here: CommandContext, question: string, limit: number): Promise<CommandResult> {
  const client = await here.client()
  const { memories, wordsOnly } = await client.searchMemories(question, { limit })
  const files = await client.searchFiles(question, { limit })
  const text =
    memories.length + files.length > 0
      ? foundTable(here.screen, memories, files)
      : 'no memory matches this    heddle memory lists all'
  return {
    json: { memories, files, ...(wordsOnly !== undefined && { wordsOnly }) },
    text: wordsOnly === undefined ? text : `${text}\nby words only: ${printable(wordsOnly)}`,
  }
}

async function showMemory(here: CommandContext, id: number): Promise<CommandResult> {
  const shown = (await (await here.client()).show(here.folder, `memory:${id}`)) as MemoryView
  return { json: shown, text: memoryPage(here.screen, shown) }
}

/** Parses `memory:12` or `12`. `instead` are subcommands to suggest for a misspelled word. */
export function memoryNumber(name: string, instead: readonly string[] = []): number {
  const { kind, id } = parseReference(name)
  if ((kind === null || kind === 'memory') && /^\d{1,15}$/.test(id)) return Number(id)
  throw noMemory([name], instead)
}

function noMemory(words: readonly string[], instead: readonly string[]): UsageError {
  const close = nearest(words[0] ?? '', instead)
  return new UsageError(
    `"${printable(words.join(' '))}" is not a memory`,
    close ? `did you mean heddle memory ${close}?` : 'write it as memory:12; heddle memory search "…" finds one',
    'bad_reference',
  )
}

function collect(word: string, before: string[] = []): string[] {
  return [...before, word]
}

/** Tags and keywords of a new memory. Empty ones are rejected: there is nothing to remove yet. */
function newWordsFrom(options: Record<string, unknown>): { tags?: string[]; keywords?: string[] } {
  for (const name of ['tag', 'keyword'])
    if ((options[name] as string[] | undefined)?.some((word) => word.trim() === ''))
      throw new UsageError(`--${name} is empty`, 'leave it out')
  return wordsFrom(options)
}

/** Tags and keywords of an edit: an empty one removes all. */
function wordsFrom(options: Record<string, unknown>): { tags?: string[]; keywords?: string[] } {
  return {
    ...(options['tag'] !== undefined && { tags: cleaned(options['tag'] as string[], 'tag') }),
    ...(options['keyword'] !== undefined && { keywords: cleaned(options['keyword'] as string[], 'keyword') }),
  }
}

function cleaned(words: string[], what: string): string[] {
  const kept = [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))]
  if (kept.length > 50 || kept.some((word) => word.length > 100))
    throw new UsageError(
      `a ${what} can have at most 100 characters, and a memory at most 50 of them`,
      `leave out what you would not search for`,
    )
  return kept
}

function countFrom(value: unknown): number {
  return wholeNumber(value, { what: 'number of memories', max: 100_000, remedy: 'use --limit with 1 to 100000' })
}
