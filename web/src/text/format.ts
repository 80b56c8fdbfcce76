import { serverNow } from '../api/server-time.ts'

/** `$0.31`, and more digits where two would say nothing. */
export function formatUsd(usd: number): string {
  if (usd === 0) return '$0.00'
  if (usd < 0.0001) return '<$0.0001'
  const digits = usd >= 0.095 ? 2 : usd >= 0.00995 ? 3 : 4
  return `$${usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: digits })}`
}

/** A cost with what is only estimated or lost marked by `~`. */
export function formatCost(cost: { costUsd: number; estimatedUsd?: number; lostUsd?: number }): string {
  const unsure = (cost.estimatedUsd ?? 0) + (cost.lostUsd ?? 0)
  return `${unsure > 0 ? '~' : ''}${formatUsd(cost.costUsd + unsure)}`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** `1 turn`, `2 turns`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`
}

/** `840`, `9.0k`, `1.2M`. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  const [value, unit] = tokens < 999_500 ? [tokens / 1000, 'k'] : [tokens / 1_000_000, 'M']
  return `${value.toFixed(value < 99.5 ? 1 : 0)}${unit}`
}

/** `<0.1 s`, `0.8 s`, `12 s`, `4 min`, `2 h 5 min`, `3 d`. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.05) return '<0.1 s'
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  if (seconds < 59.5) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return `${Math.round(hours / 24)} d`
}

/** The time today, the day and time of an earlier one. */
export function formatTime(at: string | number, now: number = serverNow()): string {
  const date = new Date(at)
  const clock = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  const today = new Date(now)
  if (date.toDateString() === today.toDateString()) return clock
  const isThisYear = date.getFullYear() === today.getFullYear()
  const day = date.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
  })
  return `${day}, ${clock}`
}

/** `just now`, `4 min ago`. */
export function formatAgo(at: string | number, now: number): string {
  const seconds = Math.max(0, (now - new Date(at).getTime()) / 1000)
  return seconds < 5 ? 'just now' : `${formatDuration(Math.max(10, Math.round(seconds / 5) * 5))} ago`
}

/** A text that begins a sentence. References, file names and commands keep their letters. */
export function asSentence(text: string): string {
  const isPlain = /^[a-z]+(?=[ ,]|: |$)/.test(text) && !/^(heddle|npm|sudo) /.test(text)
  return isPlain ? text.replace(/^[a-z]/, (letter) => letter.toUpperCase()) : text
}

/** The last six characters name an id. */
export function shortId(id: string): string {
  return id.slice(-6)
}

/** A folder below the home directory begins with `~`. */
export function shortPath(path: string): string {
  return path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~').replace(/^\/root(?=\/|$)/, '~')
}
