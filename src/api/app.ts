import type { AccessApp } from './access.ts'
import type { AccountApp } from './account.ts'
import type { AgentApp } from './agents.ts'
import type { ApprovalApp } from './approvals.ts'
import type { CommandApp } from './commands.ts'
import type { EventApp } from './events.ts'
import type { HomeApp } from './home.ts'
import type { JobApp } from './jobs.ts'
import type { MetricsApp } from './metrics.ts'
import type { ModelApp } from './models.ts'
import type { PlanApp } from './plans.ts'
import type { ProfileApp } from './profiles.ts'
import type { RunApp } from './runs.ts'
import type { SearchApp } from './search.ts'
import type { SessionApp } from './sessions.ts'
import type { SubagentApp } from './subagents.ts'
import type { TurnApp } from './turns.ts'
import type { FileSearch, MemoryApp } from './views/memory.ts'

/** All that a client can ask for, the same in this process and through the daemon. */
export interface App
  extends SessionApp,
    TurnApp,
    RunApp,
    AgentApp,
    ModelApp,
    CommandApp,
    AccountApp,
    HomeApp,
    ProfileApp,
    PlanApp,
    JobApp,
    SubagentApp,
    ApprovalApp,
    EventApp,
    MemoryApp,
    FileSearch,
    SearchApp,
    MetricsApp,
    AccessApp {
  backup(file: string): Promise<{ bytes: number; turns: number }>
}
