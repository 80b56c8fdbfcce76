import type { Register } from './cli.ts'
import { whyPage } from './why-page.ts'

export const registerWhy: Register = (program, run) => {
  program
    .command('why <ref>')
    .helpGroup('SEE')
    .description('where a line, file, run, task, result … comes from')
    .option('--forward', 'tell what came of it, too')
    .addHelpText(
      'after',
      [
        '\nFrom what you ask about back to the words of a person: which call wrote it, from',
        'which result, because of which task and plan. Looks at what is recorded and at',
        'the files, and asks no model.',
        '\nExamples: heddle why REPORT.md:12    heddle why run:7k2f3a    heddle why task:31',
        '          heddle why turn:4c1e07 --forward    heddle why approval:3 --json',
      ].join('\n'),
    )
    .action(
      run(async (here, [reference = ''], options) => {
        const app = await here.app()
        const view = await app.why(here.folder, reference, { forward: options['forward'] === true })
        return { json: view, text: whyPage(here.screen, view, here.clock.now()) }
      }),
    )
}
