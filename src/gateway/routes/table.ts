import { z } from 'zod'
import type { App } from '../../api/app.ts'
import { accessRoutes } from './access.ts'
import { accountRoutes } from './account.ts'
import { agentRoutes } from './agents.ts'
import { approvalRoutes } from './approvals.ts'
import { commandRoutes } from './commands.ts'
import { eventRoutes } from './events.ts'
import { homeRoutes } from './home.ts'
import { jobRoutes } from './jobs.ts'
import { memoryRoutes } from './memories.ts'
import { metricsRoutes } from './metrics.ts'
import { modelRoutes } from './models.ts'
import { planRoutes } from './plans.ts'
import { profileRoutes } from './profiles.ts'
import { post, type Route, type RoutesOf } from './route.ts'
import { runRoutes } from './runs.ts'
import { searchRoutes } from './search.ts'
import { sessionRoutes } from './sessions.ts'
import { subagentRoutes } from './subagents.ts'
import { turnRoutes } from './turns.ts'

/** Methods that a request can call; `follow` is read from the stream of events. */
export type RoutedMethod = Exclude<keyof App, 'follow'>

/** The routes of every method of App: the one table that server, client and OpenAPI document are made from. */
export const routeTable: RoutesOf<Pick<App, RoutedMethod>> = {
  ...sessionRoutes,
  ...turnRoutes,
  ...runRoutes,
  ...agentRoutes,
  ...modelRoutes,
  ...commandRoutes,
  ...accountRoutes,
  ...homeRoutes,
  ...profileRoutes,
  ...planRoutes,
  ...jobRoutes,
  ...subagentRoutes,
  ...approvalRoutes,
  ...eventRoutes,
  ...memoryRoutes,
  ...searchRoutes,
  ...metricsRoutes,
  ...accessRoutes,
  backup: [
    post('backup', {
      path: '/v1/backup',
      summary: "Writes a backup into a new file on the daemon's machine.",
      input: z.strictObject({ file: z.string().startsWith('/', 'must be a whole path').max(4096) }),
      call: (app, { file }) => app.backup(file),
      fields: (file) => ({ file }),
    }),
  ],
}

/** Every route with the method that it calls. */
export const allRoutes: readonly { method: RoutedMethod; route: Route }[] = Object.entries(routeTable).flatMap(
  ([method, routes]) => routes.map((route) => ({ method: method as RoutedMethod, route })),
)

/** Routes that call no method of App, or stream. */
export const ownRoutes = {
  health: '/v1/health',
  openapi: '/v1/openapi.json',
  events: '/v1/events',
  /** These over TCP only. */
  me: '/v1/me',
  signIn: '/v1/sign-in',
  signOut: '/v1/sign-out',
  metrics: '/metrics',
  healthz: '/healthz',
  readyz: '/readyz',
} as const
