// Style sheets and markup are texts.
declare module "*.css" {
  const text: string;
  export default text;
}
declare module "*.html" {
  const text: string;
  export default text;
}
