import { crashPoints } from '../../domain/crash-points.ts'
import { version } from '../../version.ts'
import { type Register, rareGroup } from '../command.ts'

export const registerDev: Register = (program, run) => {
  const dev = program.command('dev').helpGroup(rareGroup).description('tools for heddle developers')
  dev
    .command('crash-points')
    .description('list the crash points for HEDDLE_CRASH_AT=<point>#<n>')
    .action(run(async () => ({ json: { points: crashPoints }, text: crashPoints.join('\n') })))
  dev
    .command('openapi')
    .description('the OpenAPI document of the routes that heddle up serves')
    .action(
      run(async () => {
        const { openapi } = await import('../../gateway/openapi.ts')
        const document = openapi(version)
        return { json: document, text: JSON.stringify(document, null, 2) }
      }),
    )
}
