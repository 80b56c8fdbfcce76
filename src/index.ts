export { type AppSettings, openApp, restoreApp } from './app.ts'
export { type Config, loadConfig } from './config/config.ts'
export type {
  App,
  ImportReport,
  RunView,
  SessionView,
  Shown,
  ThreadView,
  TurnLine,
  TurnView,
} from './domain/app.ts'
export type { Clock, Millis, Random } from './domain/clock.ts'
export type { InputDraft, TurnDraft } from './domain/draft.ts'
export { HeddleError, Misuse } from './domain/errors.ts'
export type { Event, EventKind } from './domain/event.ts'
export type { Label } from './domain/label.ts'
export type { Message, Part, Role, Source, ThinkingConfig } from './domain/message.ts'
export type { Identity, ModelConfig, Permissions, Persona } from './domain/persona.ts'
export type { ToolCall, Usage } from './domain/turn.ts'
export { ensureHome, type HomePaths, homePaths, resolveHome } from './home/home.ts'
export { version } from './version.ts'
