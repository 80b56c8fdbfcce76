/** System directories besides /usr: links into it on most systems, directories on some. */
export const systemFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
/** Program stores of Nix and Guix. */
export const storeFolders = ['/nix/store', '/gnu/store']
/** Default PATH. */
export const systemPath = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']
