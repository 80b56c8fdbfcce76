import type { App } from '../../api/app.ts'
import type { CommandApp } from '../../api/commands.ts'
import { dispatch } from '../../commands/dispatch.ts'
import { registry } from '../../commands/registry.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Caller } from '../guard/caller.ts'

/** Chat commands. `guardedApp` is the caller's own App: a command can do nothing that its sender cannot. */
export function commandApp(caller: Caller, clock: Clock, guardedApp: () => App): CommandApp {
  return {
    commands: async () =>
      registry
        .filter(({ action }) => caller.reach(action) !== 'none')
        .map(({ name, usage, summary, example, action }) => ({ name, usage, summary, example, action })),
    command: async (folder, { line, ...chat }) =>
      dispatch({ ...chat, app: guardedApp(), folder, now: clock.now() }, line),
  }
}
