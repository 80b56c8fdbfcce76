import type { Register } from '../command.ts'
import { whyPage } from '../pages/why-page.ts'

export const registerWhy: Register = (program, run) => {
  program
    .command('why <ref>')
    .helpGroup('SEE')
    .description('trace a line, file, run, task or result back to your message')
    .option('--forward', 'also show its consequences')
    .addHelpText(
      'after',
      [
        '\nTraces it back to your message: which call wrote it, from which result, for',
        'which task and plan. Reads records and files only; no model is called.',
        '\nExamples: heddle why REPORT.md:12    heddle why run:7k2f3a    heddle why task:31',
        '          heddle why turn:4c1e07 --forward    heddle why approval:3 --json',
      ].join('\n'),
    )
    .action(
      run(async (here, [reference = ''], options) => {
        const client = await here.client()
        const view = await client.why(here.folder, reference, { forward: options['forward'] === true })
        return { json: view, text: whyPage(here.screen, view, here.clock.now()) }
      }),
    )
}
