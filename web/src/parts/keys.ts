import { useEffect } from 'react'

/** A key, or two in a row (`g c`), and what it does. */
interface KeyBinding {
  keys: string
  does: string
  run(): void
}

const storageKey = 'heddle.keys'
const bindings = new Set<readonly KeyBinding[]>()
/** The second key of a pair must follow within this time. */
const pairWithin = 1200
let first: { key: string; at: number } | undefined

/** Binds keys while the caller is shown. They work only while no field has the focus, and can be turned off. */
export function useKeys(bound: readonly KeyBinding[]): void {
  useEffect(() => {
    bindings.add(bound)
    if (bindings.size === 1) window.addEventListener('keydown', onKeyDown)
    return () => {
      bindings.delete(bound)
      if (bindings.size === 0) window.removeEventListener('keydown', onKeyDown)
    }
  }, [bound])
}

/** All keys that work now. */
export function boundKeys(): KeyBinding[] {
  return [...bindings].flat()
}

export function areKeysOn(): boolean {
  return localStorage.getItem(storageKey) !== 'off'
}

export function turnKeys(isOn: boolean): void {
  localStorage.setItem(storageKey, isOn ? 'on' : 'off')
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (!areKeysOn() || isTyping(event.target)) return
  const pair = first && event.timeStamp - first.at < pairWithin ? `${first.key} ${event.key}` : undefined
  // The page that was opened last comes first.
  const all = boundKeys().toReversed()
  const found = (pair && all.find(({ keys }) => keys === pair)) || all.find(({ keys }) => keys === event.key)
  first = found ? undefined : { key: event.key, at: event.timeStamp }
  if (!found) return
  event.preventDefault()
  found.run()
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.role === 'menuitem'
}
