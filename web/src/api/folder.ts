import { createContext, useContext } from 'react'

const storageKey = 'heddle.folder'

/** The folder that this tab shows, and how to show another one. */
export const FolderContext = createContext<{ folder: string; choose(folder: string): void } | undefined>(undefined)

export function useFolder(): string {
  return useFolderChoice().folder
}

export function useFolderChoice(): { folder: string; choose(folder: string): void } {
  const choice = useContext(FolderContext)
  if (!choice) throw new Error('used outside of a signed-in page')
  return choice
}

/** The folder of this tab, or of the last tab; else the given one. */
export function firstFolder(fallback: string): string {
  return sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey) ?? fallback
}

export function rememberFolder(folder: string): void {
  sessionStorage.setItem(storageKey, folder)
  localStorage.setItem(storageKey, folder)
}
