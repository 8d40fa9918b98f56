import { component } from "../player/mount.js";
export default component(() => ({ update() {}, destroy() {} }));
