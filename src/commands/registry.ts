import { accountCommands } from './account.ts'
import { agentCommands } from './agents.ts'
import { approvalCommands } from './approvals.ts'
import type { ChatCommand } from './command.ts'
import { cronCommands } from './cron.ts'
import { memoryCommands } from './memory.ts'
import { modelCommands } from './models.ts'
import { profileCommands } from './profiles.ts'
import { searchCommands } from './search.ts'
import { sessionCommands } from './sessions.ts'
import { statusCommands } from './status.ts'
import { talkCommands } from './talk.ts'
import { turnCommands } from './turns.ts'
import { workCommands } from './work.ts'

/** Every chat command, in the order of /help. Parsing, completion, help and the guide are made from it. */
export const registry: readonly ChatCommand[] = [
  ...talkCommands,
  ...statusCommands,
  ...sessionCommands,
  ...modelCommands,
  ...turnCommands,
  ...searchCommands,
  ...workCommands,
  ...agentCommands,
  ...profileCommands,
  ...approvalCommands,
  ...memoryCommands,
  ...cronCommands,
  ...accountCommands,
]
