import type { Client, LiveDelta, Me, Refusal, StreamItem } from '../../../src/gateway/api.ts'

/** Answer of a method of the App, as it is sent over the wire. */
type Answer<M extends keyof Client> = Client[M] extends (...args: never[]) => Promise<infer A> ? A : never
type RowOf<M extends keyof Client> = Answer<M> extends { rows: (infer R)[] } ? R : never
type ItemOf<M extends keyof Client> = Answer<M> extends (infer I)[] ? I : never
type ShowResult = Answer<'show'>

export type Agent = Answer<'agent'>
export type AgentLine = ItemOf<'agents'>
export type Approval = ItemOf<'approvals'>
export type ChatCommand = ItemOf<'commands'>
export type CommandOutcome = Answer<'command'>
export type Event = Extract<StreamItem, { kind: 'event' }>['event']
export type Fire = ItemOf<'fires'>
export type Job = ItemOf<'jobs'>
export type JobWeek = Answer<'jobWeek'>
export type MemoryLine = ItemOf<'memories'>
export type MemoryHit = Answer<'searchMemories'>['memories'][number]
export type MemoryView = Extract<ShowResult, { kind: 'memory' }>
export type HealthCheck = ItemOf<'doctor'>
export type Settings = Answer<'settings'>
export type Skills = Answer<'skills'>
export type Grant = ItemOf<'grants'>
export type Pins = Answer<'pins'>
export type Profile = ItemOf<'profiles'>
export type Registry = Answer<'agentRegistry'>
export type Plan = Answer<'plan'>
export type PlanLine = ItemOf<'plans'>
export type Run = Answer<'run'>
export type RunLine = RowOf<'runs'>
export type RunSteps = Answer<'runSteps'>
export type Session = RowOf<'sessions'>
export type Status = Answer<'status'>
export type Submitted = Answer<'submit'>
export type Task = Answer<'task'>
export type TaskLine = Plan['tasks'][number]
export type UndoReport = Answer<'undo'>
export type Result = Extract<ShowResult, { kind: 'result' }>
export type Usage = Answer<'usage'>
export type Why = Answer<'why'>
export type ThreadDiff = Answer<'diff'>
export type Turn = Extract<ShowResult, { kind: 'turn' }>
export type TreeTurn = RowOf<'turnTree'>
export type PathTurn = RowOf<'turnWindow'>
export type DayUsage = ItemOf<'usageByDay'>
export type Decision = Parameters<Client['decide']>[1]
export type { LiveDelta, Me, Refusal }
