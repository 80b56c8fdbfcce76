import type { OutboxState } from '../domain/jobs/outbox.ts'
import type { FireView, JobSettings, JobTimes, JobView, JobWeek, MessageView } from './views/job.ts'

/** Work that starts by itself, and what it sends. */
export interface JobApp {
  /** Jobs, the next to fire first. */
  jobs(): Promise<JobView[]>
  /** What became of the times of the last three days, and which come in the next four. */
  jobWeek(): Promise<JobWeek>
  /** The next times of a schedule, without saving anything. */
  previewJob(times: JobTimes): Promise<{ kind: JobView['kind']; spec: string; timezone?: string; times: string[] }>
  addJob(folder: string, settings: JobSettings): Promise<JobView>
  /** Changes what is named. */
  editJob(id: number, change: JobSettings): Promise<JobView>
  /** Lets it fire again from now on, or no more. */
  enableJob(id: number, enabled: boolean): Promise<JobView>
  removeJob(id: number): Promise<void>
  /** Fires it now, besides its times. */
  runJob(id: number): Promise<FireView>
  /** What happened at the times of jobs, newest first. */
  fires(filter?: { job?: number; limit?: number }): Promise<FireView[]>
  /** Fires the jobs that wait for this event. */
  emitEvent(name: string, data?: string): Promise<FireView[]>
  /** Lets jobs and messages of a restored database go. */
  resumeJobs(): Promise<{ jobs: number }>
  /** Messages that jobs send, newest first. */
  outbox(filter?: { state?: OutboxState; limit?: number }): Promise<MessageView[]>
  /** Sends an undelivered message again. */
  retryMessage(id: number): Promise<void>
}
