import { host, type ProcessIdentity } from './host.ts'

/**
 * User that commands run as. Root drops to the folder's owner if that user can write there, and so loses all privileges of
 * root. In root's own folder it stays root, and the sandbox drops all capabilities.
 */
export async function identityIn(folder: string, self: ProcessIdentity): Promise<ProcessIdentity> {
  if (self.uid !== 0) return self
  const owner = await host.owner(folder)
  return owner.uid !== 0 && (await host.mayUse(folder, owner, 7)) ? owner : self
}
