import { type BaseLocationHook, useParams } from 'wouter'
import { useBrowserLocation } from 'wouter/use-browser-location'

/**
 * The path as the address has it. Routes decode what they are given, but not `%3A` and others that mean something in an
 * address: escaped once more, a path comes through whole, and `useAddress` decodes each part exactly once.
 */
export const useEncodedLocation: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation()
  return [path.replaceAll('%', '%25'), navigate]
}

/** The parts of the address that a route names. */
export function useAddress(): Partial<Record<string, string>> {
  const parts = Object.entries(useParams())
  return Object.fromEntries(parts.map(([name, part]) => [name, part === undefined ? part : decodePart(part)]))
}

/** A part of an address in words; as it is if it cannot be decoded. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
