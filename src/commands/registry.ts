import type { ChatCommand } from './command.ts'
import { modelCommands } from './models.ts'
import { sessionCommands } from './sessions.ts'
import { statusCommands } from './status.ts'
import { talkCommands } from './talk.ts'

/** Every chat command, in the order of /help. Parsing, completion, help and the guide are made from it. */
export const registry: readonly ChatCommand[] = [
  ...talkCommands,
  ...statusCommands,
  ...sessionCommands,
  ...modelCommands,
]
