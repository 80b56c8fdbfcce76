import type { CommandContext } from '../../command.ts'
import { paint } from '../../terminal/screen.ts'

/** Hint about a fire while no daemon runs. */
export const waitsForDaemon = 'It waits: no daemon is running.'

/** Adds a line to what is said if no daemon runs, with the command that starts one. */
export async function withDaemonHint(here: CommandContext, text: string, hint: string): Promise<string> {
  return (await here.daemon()) ? text : `${text}\n${paint(here.screen, 'yellow', `${hint}    heddle up`)}`
}
