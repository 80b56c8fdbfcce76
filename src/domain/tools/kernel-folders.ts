import { isWithin } from './within.ts'

/** Kernel file systems: they hold no regular files, and writing there changes the machine. */
const kernelFolders = ['/proc', '/sys', '/dev']

export function isKernelPath(path: string): boolean {
  return kernelFolders.some((folder) => isWithin(path, folder))
}
