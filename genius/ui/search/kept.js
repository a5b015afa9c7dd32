// Said before the first upload, where the host keeps pictures.
const draw = ({days}) => [node('p', {class: 'label'}, 'Pictures that you search with are kept on this server, for up to '
  + `${days} days after their last use, so that the address of a search includes its picture.`)];
