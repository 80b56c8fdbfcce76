/** Directories of the system besides /usr: links into it on most systems, and directories on some. */
export const systemFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Where Nix and Guix keep all programs. */
export const storeFolders = ['/nix/store', '/gnu/store']
/** The PATH of a user who has set none. */
export const systemPath = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']
