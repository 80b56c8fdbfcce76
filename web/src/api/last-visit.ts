const storageKey = 'heddle.lastVisit'
const pause = 5 * 60_000

let since: number | undefined

/** When the page was last looked at before now: a look within five minutes belongs to this visit. */
export function lastVisit(): number {
  since ??= readLastVisit()
  return since
}

/** Keeps the time while the page is looked at. */
export function keepLastVisit(): () => void {
  lastVisit()
  const keep = () => {
    if (document.visibilityState === 'visible') localStorage.setItem(storageKey, String(Date.now()))
  }
  keep()
  const timer = window.setInterval(keep, 60_000)
  document.addEventListener('visibilitychange', keep)
  return () => {
    window.clearInterval(timer)
    document.removeEventListener('visibilitychange', keep)
  }
}

function readLastVisit(): number {
  const stored = Number(sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey) ?? Number.NaN)
  const last = Number.isFinite(stored) ? stored : Date.now()
  // Reloading a tab does not end a visit.
  if (Date.now() - last > pause) sessionStorage.setItem(storageKey, String(last))
  return last
}
