import { isWithin } from './within.ts'

/** File systems of the kernel: not made of files, and to write there is to change the machine. */
const kernelFolders = ['/proc', '/sys', '/dev']

export function isKernelPath(path: string): boolean {
  return kernelFolders.some((folder) => isWithin(path, folder))
}
