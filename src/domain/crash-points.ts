/** Purpose of a transaction; names its crash points and errors. */
export const writeAreas = [
  'identify',
  'append',
  'fork',
  'session',
  'persona',
  'import',
  'prune',
  'submit',
  'claim',
  'step',
  'compact',
  'settle',
  'park',
  'recover',
  'cancel',
  'approve',
  'undo',
  'owner',
  'index',
  'embed',
  'access',
  'job',
  'fire',
  'send',
  'tidy',
  'policy',
] as const
export type WriteArea = (typeof writeAreas)[number]

const otherPoints = [
  'model.before_request',
  'model.after_reply',
  'tool.before_run',
  'tool.after_run',
  'guard.after_record',
  'guard.after_command',
  'guard.after_look',
  'migrate.before_commit',
  'migrate.after_commit',
  'backup.before_rename',
  'backup.after_rename',
  'restore.before_swap',
  'restore.between_swap',
  'restore.after_swap',
  'config.before_rename',
  'config.after_rename',
] as const

export type CrashPoint = `${WriteArea}.${'before' | 'after'}_commit` | (typeof otherPoints)[number]

/** Every point at which a test can kill the process. */
export const crashPoints: readonly CrashPoint[] = [
  ...writeAreas.flatMap((area) => [`${area}.before_commit`, `${area}.after_commit`] as const),
  ...otherPoints,
]

/** Reads `HEDDLE_CRASH_AT=<point>#<n>` and calls `die` at the n-th pass of that point. */
export function crashAt(setting: string | undefined, die: () => void): (point: CrashPoint) => void {
  if (!setting) return () => undefined
  const [name, count] = setting.split('#')
  let left = Number(count ?? 1)
  return (point) => {
    if (point === name && --left === 0) die()
  }
}
