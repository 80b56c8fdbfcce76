import { Option } from 'commander'
import { UsageError } from '../../domain/errors.ts'
import { type DocumentKind, documentKinds } from '../../domain/search.ts'
import type { Register } from '../command.ts'
import { pageOptions, readPages } from '../input/pages.ts'
import { searchPage } from '../pages/search-page.ts'

const defaultFound = 20

export const registerSearch: Register = (program, run) => {
  program
    .command('search <words...>')
    .helpGroup('REWIND')
    .description('find turns, results and files that agents wrote, by words')
    .option('--session <session>', 'only what was made in this session')
    .addOption(new Option('--kind <kind>', 'only turns, results or files').choices([...documentKinds]))
    .option('--limit <n>', `at most n; 0 for all (default: ${defaultFound})`)
    .option('--after <cursor>', 'go on after this cursor of an earlier search')
    .addHelpText('after', '\nExamples: heddle search staging port    heddle search "login bug" --kind result')
    .action(
      run(async (here, words, options) => {
        if (words.some((word) => word.trim() === ''))
          throw new UsageError('a word to search for is empty', 'leave it out, such as: heddle search staging port')
        const query = {
          query: words.join(' '),
          ...(options['session'] !== undefined && { session: String(options['session']) }),
          ...(options['kind'] !== undefined && { kind: options['kind'] as DocumentKind }),
        }
        const client = await here.client()
        const { rows, ...rest } = await readPages((page) => client.search(here.folder, { ...query, ...page }), {
          ...pageOptions(options, defaultFound, 'hits'),
          newest: 'first',
        })
        const text = searchPage(here.screen, { rows, ...rest }, { folder: here.folder, now: here.clock.now() })
        return { json: { hits: rows, ...rest }, text }
      }),
    )
}
