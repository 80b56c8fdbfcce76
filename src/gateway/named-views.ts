import type { App } from '../api/app.ts'
import type { PlanView, TaskView } from '../api/views/plan.ts'
import type { RunView } from '../api/views/run.ts'
import type { Client } from './api.ts'
import { idIn } from './routes/route.ts'

/** Views of one kind of thing, by a reference or by its id alone. */
export function namedViews(app: Pick<App, 'show'>): Pick<Client, 'run' | 'plan' | 'task'> {
  const view = (kind: string, name: string) => app.show('/', `${kind}:${idIn(name, kind) ?? name}`)
  return {
    run: async (name) => (await view('run', name)) as RunView,
    plan: async (name) => (await view('plan', name)) as PlanView,
    task: async (name) => (await view('task', name)) as TaskView,
  }
}
