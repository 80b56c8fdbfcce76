import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { printable } from '../terminal/screen.ts'

const largestLine = 64 * 1024 * 1024

export const registerTransfer: Register = (program, run) => {
  program
    .command('export [session]')
    .helpGroup(rareGroup)
    .description('export turns as JSON lines to stdout: one session, or everything')
    .addHelpText('after', '\nExample: heddle export main > main.jsonl')
    .action(
      run(async (here, [session]) => {
        if (here.json) throw new UsageError('an export is JSON lines, one document per turn', 'leave out --json')
        const client = await here.client()
        for await (const line of client.exportTurns(here.folder, session)) await here.write(`${line}\n`)
        return undefined
      }),
    )

  program
    .command('import <file>')
    .helpGroup(rareGroup)
    .description('import exported turns with their ids; - reads stdin')
    .addHelpText('after', '\nExample: heddle import main.jsonl')
    .action(
      run(async (here, [file = '']) => {
        const client = await here.client()
        const report = await client.importTurns(linesOf(here, file))
        const sessions = report.sessions.map(({ label }) => printable(label)).join(', ')
        return {
          json: { ok: true, ...report },
          text: `imported ${report.imported}, already here ${report.skipped}${sessions && `, sessions ${sessions}`}    heddle log --all --graph`,
        }
      }),
    )
}

async function* linesOf(here: CommandContext, file: string): AsyncIterable<string> {
  const input = file === '-' ? here.io.stdin : createReadStream(here.pathOf(file))
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (line.length > largestLine)
        throw new HeddleError('bad_import', 'a line is longer than 64 MB', 'import a file that `heddle export` wrote')
      yield line
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined || error instanceof HeddleError) throw error
    throw new HeddleError(
      'file_unreadable',
      `${file} cannot be read (${(error as Error).message})`,
      'use a file that `heddle export` wrote',
    )
  }
}
