import { useEffect, useState } from 'react'

/** What is typed in a session and not sent yet: it survives a reload, a crash and a look at another page. */
export function useDraft(folder: string, session: string): [string, (text: string) => void] {
  const key = `heddle.draft:${folder}:${session}`
  const [draft, setDraft] = useState(() => localStorage.getItem(key) ?? '')
  useEffect(() => {
    setDraft(localStorage.getItem(key) ?? '')
    // Another tab of this session may write, too.
    const onStorage = (event: StorageEvent) => event.key === key && setDraft(event.newValue ?? '')
    window.addEventListener('storage', onStorage)
    return () => window.removeEventListener('storage', onStorage)
  }, [key])
  const change = (text: string) => {
    setDraft(text)
    if (text === '') localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  }
  return [draft, change]
}
